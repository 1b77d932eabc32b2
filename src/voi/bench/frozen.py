"""One batch of captions, and a decoder that writes each of them in the order common words first."""

import dataclasses
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from voi import checkpoint, config
from voi.batch import Batch, collate
from voi.bench.steps import size_table, updating
from voi.claims import alone
from voi.data import Example
from voi.data.caption_files import read_captions
from voi.data.scenes import Scenes
from voi.errors import DataError
from voi.networks import Networks
from voi.search import ids_in_reading_order, search
from voi.tokens import Codec, build_codec, build_corpus
from voi.training import TrainingError

CHECK_EVERY = 20  # steps between looks at what the decoder writes
SCENES = Scenes(train=200, valid=1, test=1)


@dataclass(frozen=True)
class DecoderSize:
    """The batch and the networks; the generator has the decoder's width and layers."""

    captions: str = ""  # a file of captions; empty: captions of the embedded scenes
    batch_size: int = 64
    width: int = 64
    layers: int = 2  # of source encoder and decoder each
    rate: float = 2e-3
    max_steps: int = 4000  # to write every caption
    seed: int = 0


@dataclass(frozen=True)
class Frozen:
    """A decoder that knows its batch by heart, and the order it writes it in."""

    batch: Batch
    codec: Codec
    common: Int[Tensor, "batch n"]
    networks: Networks  # the decoder, and the fixed order it was trained on


def frozen_decoder(folder: Path, size: DecoderSize, said: Callable[[str], None] = print) -> Frozen:
    """Return the decoder of a folder; it is trained and stored there if there is none."""
    examples, codec = _examples(size)
    table = {"order": {"kind": "common"}, "training": {"steps": 1, "decoder_rate": size.rate}}
    experiment = config.experiment({"decoder": size_table(size.width, size.layers), **table})
    corpus, _ = build_corpus(examples, codec, experiment.data)
    batch = collate(corpus, np.arange(len(corpus)))
    with alone(folder):
        if not (folder / "manifest.json").is_file():
            torch.manual_seed(size.seed)
            region_size = 0 if batch.features is None else batch.features.shape[-1]
            networks = Networks.of(experiment, codec, region_size)
            _train(networks, batch, experiment, size, said)
            checkpoint.save(folder, experiment, codec, networks)
    networks = checkpoint.load(folder).networks
    networks.eval().requires_grad_(False)
    return Frozen(batch, codec, networks.orders(batch).mode, networks)


def _examples(size: DecoderSize) -> tuple[list[Example], Codec]:
    """Return one caption of each image, and a codec of their words that counts all captions.

    In a file of captions images have no regions: a name of its own stands for each.
    """
    if size.captions:
        images = [image.captions for image in read_captions(Path(size.captions))]
        everything = [text for captions in images for text in captions]
        chosen = [Example(f"image{i}", captions[0]) for i, captions in enumerate(images)]
        tokens = {"pretokenizer": "moses", "lowercase": True}
    else:
        examples = SCENES.split("train")
        everything = [example.target for example in examples]
        chosen = list(examples[:: SCENES.captions])
        tokens = {}
    if len(chosen) < size.batch_size:
        raise DataError(
            f"{size.captions or 'scenes'} has {len(chosen)} images, a batch has {size.batch_size}: "
            f"give more captions or a smaller --batch-size"
        )
    chosen = chosen[: size.batch_size]
    return chosen, _counting(build_codec(tokens, chosen), everything)


def _counting(codec: Codec, texts: Sequence[str]) -> Codec:
    """Return the codec with the counts of its words in many texts."""
    counts = Counter(word for text in texts for word in codec.tokenizer.target_tokens(text))
    vocabulary = codec.vocabulary
    found = vocabulary.with_counts([counts[word] for word in vocabulary.words])
    return dataclasses.replace(codec, vocabulary=found)


def _train(
    networks: Networks,
    batch: Batch,
    experiment: config.Experiment,
    size: DecoderSize,
    said: Callable[[str], None],
) -> None:
    """Train until greedy search writes every caption."""
    update, num_right = updating(experiment, networks), 0
    start = time.process_time()
    for step in range(size.max_steps):
        updated = update([batch], len(batch), step, min(1.0, (step + 1) / 100), 0.0)
        if (step + 1) % CHECK_EVERY == 0:
            num_right = num_written(networks, batch)
        if num_right == len(batch):
            cpu = time.process_time() - start
            said(
                f"decoder: {num_right} of {len(batch)} captions written after {step + 1} steps, "
                f"{updated.loss:.3f} nats per token, {cpu:.0f} CPU seconds"
            )
            return
    raise TrainingError(
        f"after {size.max_steps} steps the decoder writes {num_right} of {len(batch)} captions: "
        f"give it more steps or a larger --width"
    )


@torch.no_grad()
def num_written(networks: Networks, batch: Batch) -> int:
    """Return how many targets greedy search writes exactly."""
    networks.eval()
    source = networks.decoder.encode(batch)
    found = search(networks.decoder, source, max_length=batch.target.shape[1])
    targets = [row[:n].tolist() for row, n in zip(batch.target, batch.lengths, strict=True)]
    return sum(
        ids_in_reading_order(best[0]) == target for best, target in zip(found, targets, strict=True)
    )


def batch_digest(frozen: Frozen) -> str:
    """Return what identifies batch, order and decoder: stored with every cell."""
    digest = hashlib.sha256()
    for tensor in (frozen.batch.target, frozen.common, frozen.networks.decoder.embedding.weight):
        digest.update(np.ascontiguousarray(tensor.detach().numpy()).tobytes())
    return digest.hexdigest()[:16]
