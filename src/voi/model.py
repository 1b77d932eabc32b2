"""A trained model as its users see it: sources in, hypotheses, orders and likelihoods out."""

import dataclasses
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import torch
from huggingface_hub import snapshot_download

from voi import checkpoint
from voi.analysis import order_of_slots
from voi.arguments import check_counts, check_form, check_numbers, check_sources
from voi.batch import Batch, collate
from voi.checkpoint import Checkpoint
from voi.config import Experiment
from voi.data import Example, Regions, Source, Task
from voi.data.tasks import chosen_split, make_task
from voi.decoder.cache import Stepper
from voi.devices import check_device
from voi.errors import CheckpointError, ConfigError, DataError, DataWarning
from voi.likelihood import Likelihood, likelihoods
from voi.orders import search_orders
from voi.search import (
    Found,
    Hypothesis,
    Rules,
    Sampling,
    ids_in_reading_order,
    rules_with_gaps,
    rules_with_keywords,
    rules_with_prefix,
    search,
)
from voi.search.hypothesis import merged
from voi.search.rules import check_lengths
from voi.tokens import Codec, Corpus, Ragged
from voi.trained_on import has_changed

_EXAMPLES_AT_ONCE = 32


class Model:
    """The two networks, the codec and the experiment they come from.

    >>> import voi                                                # doctest: +SKIP
    >>> model = voi.load("runs/chain")                            # doctest: +SKIP
    >>> print(model.generate(["from-left a b c d e"])[0][0])      # doctest: +SKIP
    A F B C A
    """

    def __init__(self, loaded: Checkpoint):
        self.experiment: Experiment = loaded.experiment
        self.codec: Codec = loaded.codec
        self.networks = loaded.networks
        folder = loaded.folder
        self.run = None if folder is None else checkpoint.run_of(folder)  # None: of no folder

    @classmethod
    def from_pretrained(cls, name: str | Path, device: str = "cpu") -> "Model":
        """Load a model from a folder, or from a hub by its id."""
        check_device(device)
        path = Path(name)
        if str(name).count("/") == 1 and not path.exists() and not path.parent.is_dir():
            try:
                path = Path(snapshot_download(str(name)))
            except Exception as error:
                raise CheckpointError(
                    f"no folder {name}, and no model of that name could be fetched from the hub "
                    f"({type(error).__name__}: {str(error).splitlines()[0]})"
                ) from error
        return cls(checkpoint.load(checkpoint.find(path), device))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a model folder that `from_pretrained` and `voi.load` read.

        It may take the place of another model, of nothing else.
        """
        path = Path(folder)
        checkpoint.check_replaceable(path)
        checkpoint.save(path, self.experiment, self.codec, self.networks)

    def task(self) -> Task:
        """Return the task it was trained on, its files where they were during training."""
        return make_task(self.experiment.data.task, self.experiment.data.options)

    def chosen_split(self, task: Task, name: str) -> Sequence[Example]:
        """Return the split of its task that a user chose.

        A DataWarning says where the data has changed since training. Nothing is trained on test, so
        nothing else is read for it.
        """
        examples = chosen_split(task, name, self.run)
        run = self.run if name != "test" else None
        if run is not None and has_changed(run, self.experiment, task, self.codec):
            message = (
                f"the data of {run} has changed since it was trained: pairs that are held out now "
                f"may have been trained on; restore the files, or start a new run"
            )
            warnings.warn(message, DataWarning, stacklevel=2)
        return examples

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.networks.device

    @property
    def reads_images(self) -> bool:
        """Are its sources regions of images, not texts?"""
        return self.networks.region_size > 0

    @torch.no_grad()
    def generate(
        self,
        sources: Iterable[Source] | str,
        *,
        beam: int | None = None,
        nbest: int = 1,
        length_penalty: float | None = None,
        max_length: int | None = None,
        sample: Sampling | None = None,
        merge: bool = False,
        gaps: Sequence[str] | None = None,
        prefix: Sequence[str] | None = None,
        keywords: Sequence[Sequence[str]] | None = None,
        keywords_in_order: bool = False,
        first: int = 0,
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each source, best first (drawn ones as drawn).

        One of `gaps` (texts with ___), `prefix` (texts to continue) and `keywords` (words that
        must appear) may be given, with one entry per source; every output obeys. Beside a single
        source that stands without a list, gaps and prefix may do so too. With `merge`,
        hypotheses that spell the same text become one, their probabilities added. What is sampled
        for a source depends on the seed and its number, counted from `first`: a list that comes in
        parts is sampled as it would be in one.
        """
        if isinstance(sources, str):
            sources, gaps, prefix = [sources], _listed(gaps), _listed(prefix)
        check_sources(sources)
        sources = list(sources)
        _check_each(sources)
        asked = _given(beam=beam, max_length=max_length)
        _check_whole(nbest=nbest, first=first, **asked)
        asked |= _given(length_penalty=length_penalty)
        check_numbers("a number", Real, **asked)
        asked["max_length"] = max_length or self.experiment.search.max_length
        options = dataclasses.replace(self.experiment.search, **asked)
        check_counts(sample, merge, nbest, options.beam, first)
        rules = self._rules(sources, gaps, prefix, keywords, keywords_in_order)
        check_lengths(rules, options.max_length)
        stepper, results = Stepper(self.networks.decoder), []
        for start in range(0, len(sources), _EXAMPLES_AT_ONCE):
            part = slice(start, start + _EXAMPLES_AT_ONCE)
            batch = self._collated(sources[part], Ragged.of([()] * len(sources[part])))
            found = search(
                stepper,
                self.networks.decoder.encode(batch),
                beam=options.beam,
                nbest=options.beam if merge else nbest,
                length_penalty=options.length_penalty,
                max_length=options.max_length,
                sampling=sample,
                rules=rules[part],
                first=first + start,
            )
            for source, hypotheses in zip(sources[part], found, strict=True):
                made = [self._hypothesis(one, source) for one in hypotheses]
                results.append(merged(made)[:nbest] if merge else made)
        return results

    def _rules(
        self,
        sources: Sequence[Source],
        gaps: Sequence[str] | None,
        prefix: Sequence[str] | None,
        keywords: Sequence[Sequence[str]] | None,
        in_order: bool,
    ) -> list[Rules]:
        forms = {"gaps": gaps, "prefix": prefix, "keywords": keywords}
        given = [x for x in forms.values() if x is not None]
        if len(given) > 1:
            raise ConfigError("give one of gaps, prefix and keywords, not several")
        for name, entries in forms.items():
            check_form(name, entries)
        if given and len(given[0]) != len(sources):
            raise ConfigError(
                f"expected one text or list of keywords per source, got {len(given[0])} for "
                f"{len(sources)} sources"
            )
        makers: Mapping[str, Callable[..., Rules]] = {
            "gaps": rules_with_gaps,
            "prefix": rules_with_prefix,
            "keywords": partial(rules_with_keywords, in_order=in_order),
        }
        for name, entries in forms.items():
            if entries is not None:
                of_one = zip(entries, sources, strict=True)
                return [makers[name](entry, self.codec, source) for entry, source in of_one]
        return [Rules()] * len(sources)

    def _hypothesis(self, found: Found, source: Source) -> Hypothesis:
        tokens = self.codec.decode(ids_in_reading_order(found), source)
        return Hypothesis(
            text=self.codec.text(tokens),
            tokens=tuple(tokens),
            order=tuple(order_of_slots(found.slots)),
            slots=found.slots,
            score=found.score,
            token_scores=found.token_scores,
            slot_scores=found.slot_scores,
        )

    @overload
    def infer_order(  # type: ignore[overload-overlap]  # 0 is an int too
        self, source: Source, target: str, samples: Literal[0] = 0, *, beam: int = 0
    ) -> tuple[int, ...]: ...
    @overload
    def infer_order(self, source: Source, target: str, samples: int) -> list[tuple[int, ...]]: ...
    def infer_order(
        self, source: Source, target: str, samples: int = 0, *, beam: int = 0
    ) -> tuple[int, ...] | list[tuple[int, ...]]:
        """Return the order the model would write a target in: order[t] = i, position i at step t.

        It is the most likely one under q(z | x, y), or, with `samples`, a list of sampled ones.
        With `beam` it is searched under the decoder instead (SAO).
        """
        _check_whole(samples=samples, beam=beam)
        if min(beam, samples) < 0:
            raise ConfigError(f"samples and beam must not be negative, got {samples} and {beam}")
        if beam and samples:
            raise ConfigError("give samples of the orders' law or a beam to search with, not both")
        batch = self._batch(source, target)
        with torch.no_grad():
            if beam:
                return tuple(
                    search_orders(self.networks.decoder, batch, beam=beam).orders[0, 0].tolist()
                )
            q = self.networks.orders(batch, self.networks.decoder.encode(batch))
            if not samples:
                return tuple(q.mode[0].tolist())
            drawn = q.sample(torch.Size([samples]))[:, 0].tolist()
        return [tuple(order) for order in drawn]

    def log_likelihood(self, source: Source, target: str, samples: int = 64) -> Likelihood:
        """Return a lower bound on log p(y | x) in nats, and its exact value for short targets.

        Words outside the vocabulary are scored as the unknown token, whatever they are.
        """
        _check_whole(samples=samples)
        if samples < 1:
            raise ConfigError(f"samples must be at least 1, got {samples}")
        return likelihoods(self.networks, self._batch(source, target), samples)[0]

    def _batch(self, source: Source, target: str) -> Batch:
        if not isinstance(source, str | Regions | None) or not isinstance(target, str):
            raise ConfigError(
                f"expected one source and one target, a text, got {type(source).__name__} and "
                f"{type(target).__name__}: call it once for each pair"
            )
        encoded = self.codec.encode(Example(source, target))
        tags = None if encoded.tags is None else Ragged.of([encoded.tags])
        return self._collated([source], Ragged.of([encoded.target]), tags)

    def _collated(
        self, sources: Sequence[Source], targets: Ragged, tags: Ragged | None = None
    ) -> Batch:
        """Return a batch of sources, of the kind it was trained on, beside targets in ids."""
        expected = Regions if self.reads_images else str
        wrong = [x for x in sources if not isinstance(x, expected | None)]
        if wrong:
            raise DataError(
                f"this model was trained on {'images' if self.reads_images else 'text'}: expected "
                f"{'voi.Regions' if self.reads_images else 'str'} as source, got "
                f"{type(wrong[0]).__name__}"
            )
        num_missing = sum(source is None for source in sources)
        if 0 < num_missing < len(sources):
            raise DataError(
                f"expected sources of one kind, got None for {num_missing} of {len(sources)}"
            )
        corpus = Corpus.of_sources(sources, self.codec, targets, tags)
        return collate(corpus, np.arange(len(sources))).to(self.device)


def _check_each(sources: Sequence[object]) -> None:
    """Raise the error of the first entry that is no source of any model."""
    for index, source in enumerate(sources):
        if not isinstance(source, str | Regions | None):
            raise ConfigError(
                f"expected sources that are texts, voi.Regions or None, got "
                f"{reprlib.repr(source)} at index {index}"
            )


def _check_whole(**given: object) -> None:
    check_numbers("a whole number", Integral, **given)


def _given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


def _listed(text: Sequence[str] | None) -> Sequence[str] | None:
    return [text] if isinstance(text, str) else text


def load(path: str | Path, device: str = "cpu") -> Model:
    """Return the model of a run folder (its best checkpoint), a model folder, or a hub id.

    >>> load("runs/chain").experiment.order.kind                  # doctest: +SKIP
    'voi'
    """
    return Model.from_pretrained(path, device)
