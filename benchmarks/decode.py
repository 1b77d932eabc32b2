"""How fast targets are written: against Marian of `transformers`, against no cache, by length.

    python benchmarks/decode.py            some minutes
    python benchmarks/decode.py --quick    under a minute

Both models have the size of a Transformer base and random weights, read the same sources and write
the same number of tokens. `pip install transformers` first; it is used nowhere else.
"""

import argparse
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from measure import (
    interleaved,
    machine,
    medians,
    memory_in_a_process,
    memory_of,
    print_table,
    ratio,
)
from voi.batch import Batch
from voi.config import DecoderConfig
from voi.decoder import InsertionDecoder
from voi.decoder.cache import Stepper
from voi.search import search
from voi.tokens import END, PAD, START

WIDTH, HIDDEN, LAYERS, HEADS, VOCABULARY = 512, 2048, 6, 8, 8000
BATCH, SOURCE_LENGTH, TARGET_LENGTH = 32, 20, 20


def sources() -> Tensor:
    """Return source ids [batch, m]; no row is padded."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(4, VOCABULARY, (BATCH, SOURCE_LENGTH), generator=generator)


def source_batch() -> Batch:
    lengths = torch.full((BATCH,), SOURCE_LENGTH)
    return Batch(sources()[:, :1], torch.ones_like(lengths), sources(), source_lengths=lengths)


def make_decoder() -> InsertionDecoder:
    """Return a decoder that never ends before it must.

    Normalised states have mean zero before the bias of 0.1 is added, so the score of END, whose
    embedding is -1 everywhere, is -51 after every state.
    """
    torch.manual_seed(0)
    config = DecoderConfig(
        width=WIDTH, hidden=HIDDEN, heads=HEADS, source_layers=LAYERS, layers=LAYERS
    )
    decoder = InsertionDecoder(config, VOCABULARY).eval()
    with torch.no_grad():
        decoder.norm.bias.fill_(0.1)
        decoder.embedding.weight[END] = -1.0
    return decoder


def ours(beam: int, length: int = TARGET_LENGTH) -> Callable[[], None]:
    """Return what encodes the sources and writes `length` tokens, then END, for each."""
    decoder, batch = make_decoder(), source_batch()
    stepper = Stepper(decoder)

    @torch.inference_mode()
    def run() -> None:
        found = search(stepper, decoder.encode(batch), beam=beam, max_length=length)
        assert all(len(best.tokens) == length for (best,) in found)

    return run


def peer(beam: int, length: int = TARGET_LENGTH) -> Callable[[], None]:
    """Return the same for Marian, with its cache; it writes no END."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError as error:
        raise SystemExit("the peer is missing: pip install transformers") from error
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_ffn_dim=HIDDEN,
        decoder_ffn_dim=HIDDEN,
        encoder_layers=LAYERS,
        decoder_layers=LAYERS,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=START,
        forced_eos_token_id=None,
    )
    model, ids = MarianMTModel(config).eval(), sources()
    options = {"min_new_tokens": length, "max_new_tokens": length, "num_beams": beam}

    @torch.inference_mode()
    def run() -> None:
        written = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, use_cache=True, **options
        )
        assert written.shape == (BATCH, length + 1)  # START leads

    return run


def uncached(length: int) -> Callable[[], None]:
    """Return what computes the states of all written tokens anew at every step.

    The source is encoded once, and the tokens and slots are written down beforehand: only the
    decoder's states and the scores of the next token are counted.
    """
    decoder, batch = make_decoder(), source_batch()
    tokens = torch.randint(4, VOCABULARY, (BATCH, length))
    orders = torch.stack([torch.randperm(length) for _ in range(BATCH)])

    @torch.inference_mode()
    def run() -> None:
        source = decoder.encode(batch)
        for step in range(length + 1):
            order = orders[:, :step].argsort(-1).argsort(-1)  # of the tokens written so far
            states = decoder.states(tokens[:, :step], order, source)
            torch.nn.functional.linear(states[:, -1], decoder.embedding.weight).argmax(-1)

    return run


def against_peer(repetitions: int) -> None:
    rows = []
    for beam in (1, 5):
        timed = interleaved({"ours": ours(beam), "peer": peer(beam)}, repetitions)
        memory = {
            name: memory_in_a_process(__file__, "--memory", name, "--beam", str(beam))
            for name in timed
        }
        for name, seconds in timed.items():
            rate = BATCH * TARGET_LENGTH / sorted(seconds)[len(seconds) // 2]
            faster = ratio(timed, "peer", "ours") if name == "ours" else ""
            used = (f"{value:.0f}" for value in memory[name])
            rows.append([f"beam {beam}, {name}", f"{rate:.0f}", faster, *used])
    header = ["", "tokens/s", "times the peer", "peak MiB", "of it by decoding"]
    print_table(f"Against Marian: batch {BATCH}, {TARGET_LENGTH} tokens", header, rows)


def against_no_cache(length: int, repetitions: int) -> None:
    timed = interleaved({"cached": ours(1, length), "uncached": uncached(length)}, repetitions)
    rows = [[name, f"{sorted(s)[len(s) // 2]:.2f}"] for name, s in timed.items()]
    rows.append(["ratio", ratio(timed, "uncached", "cached")])
    print_table(f"Cache: greedy, batch {BATCH}, {length} tokens", ["", "seconds"], rows)


def by_length(lengths: tuple[int, ...], repetitions: int) -> None:
    timed = medians({str(n): ours(1, n) for n in lengths}, repetitions)
    per_token = {n: 1e3 * seconds / (BATCH * int(n)) for n, seconds in timed.items()}
    first = per_token[str(lengths[0])]
    rows = [
        [n, f"{value:.3f}", f"{value / first:.2f}", f"{int(n) / lengths[0]:.0f}"]
        for n, value in per_token.items()
    ]
    header = ["n", "ms per token", "times the first", "if linear"]
    print_table(f"Cost of a token by length: greedy, batch {BATCH}", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions and short targets")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", choices=["ours", "peer"], help="print peak and added MiB only")
    parser.add_argument("--beam", type=int, default=1, help="with --memory")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the peer
    torch.set_num_threads(arguments.threads)
    if arguments.memory:
        print(*memory_of({"ours": ours, "peer": peer}[arguments.memory](arguments.beam)))
        return
    print(machine())
    against_peer(1 if arguments.quick else 7)
    against_no_cache(20 if arguments.quick else 60, 1 if arguments.quick else 3)
    by_length((5, 10, 20) if arguments.quick else (10, 20, 40, 80), 1 if arguments.quick else 5)


if __name__ == "__main__":
    main()
