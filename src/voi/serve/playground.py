"""The playground's answers: requests as plain tables in, plain tables out."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from threading import Lock
from typing import Any

import torch

from voi.analysis import Trace, slots_of, to_record
from voi.data import Regions, Source
from voi.data.example import source_text
from voi.devices import seeded
from voi.errors import ConfigError, DataError
from voi.model import Model
from voi.search import GAP
from voi.serve.given import Given, given_of, rules_of
from voi.serve.requests import (
    GenerateRequest,
    LikelihoodRequest,
    Limits,
    OrderRequest,
    defaults,
    read,
)
from voi.serve.sources import Sources, sources_of
from voi.study.attention import attention_of, opacities
from voi.study.frozen import frozen_batch

WAIT = 120.0  # seconds that a request waits for the ones before it

Table = dict[str, Any]


class BusyError(Exception):
    """The requests before this one took too long."""


class Playground:
    """A model that answers one request at a time; what is wrong with one is a VoiError."""

    def __init__(self, model: Model, name: str, limits: Limits = Limits()):
        self.model, self.name, self.limits = model, name, limits
        self.sources: Sources = sources_of(model)
        self._lock = Lock()

    @contextmanager
    def _turn(self, seed: int = 0) -> Iterator[None]:
        """Wait for the other requests; what is drawn inside depends on the seed alone."""
        if not self._lock.acquire(timeout=WAIT):
            raise BusyError(f"other requests took longer than {WAIT:.0f} seconds: try again later")
        try:
            with seeded(seed, self.model.device):
                yield
        finally:
            self._lock.release()

    def finish(self) -> None:
        """Wait for the request under way, and answer none after it."""
        self._lock.acquire()

    def about(self) -> Table:
        """Return what the page shows of the run, and what it may ask for."""
        model = self.model
        return {
            "run": self.name,
            "task": model.experiment.data.task,
            "order": model.experiment.order.kind,
            "num_weights": sum(weights.numel() for weights in model.networks.parameters()),
            "vocabulary_size": len(model.codec.vocabulary),
            "inserts": model.networks.decoder.slots is not None,
            "gap": GAP,
            "defaults": defaults(model.experiment.search, self.limits),
            "limits": asdict(self.limits),
            **self.sources.to_table(),
        }

    def image(self, name: str) -> Table:
        """Return an image of the run's task with its regions."""
        return self.sources.image(name)

    def generate(self, table: Mapping[str, Any]) -> Table:
        """Return the hypotheses for one source, best first, or as drawn where they are samples."""
        filled = {**defaults(self.model.experiment.search, self.limits), **table}
        request = read(GenerateRequest, filled, self.limits)
        source = self._source(request.source)
        self._check_rules(request)
        with self._turn():
            (found,) = self.model.generate(
                [source],
                beam=request.beam,
                nbest=request.nbest,
                length_penalty=request.length_penalty,
                max_length=request.max_length,
                sample=request.sampling,
                merge=request.merge,
                keywords_in_order=request.keywords_in_order,
                **request.rules,
            )
            codec = self.model.codec
            rules = rules_of(request, codec, source)
            given = [given_of(hypothesis, rules, codec, source) for hypothesis in found]
            traces = [hypothesis.to_trace(source_text(source)) for hypothesis in found]
            pairs = zip(traces, given, strict=True)
            return {"hypotheses": [self._record(source, *pair) for pair in pairs]}

    def order(self, table: Mapping[str, Any]) -> Table:
        """Return the different orders of a target, each with the decoder's scores and its count."""
        request = read(OrderRequest, table, self.limits)
        source = self._source(request.source)
        tokens = self._target(request.target)
        with self._turn(request.seed):
            orders = self._orders(request, source)
            traces = self._scored(source, request.target, tokens, list(Counter(orders)))
            counts = Counter(orders).values()
            pairs = zip(traces, counts, strict=True)
            found = [{**self._record(source, trace), "count": count} for trace, count in pairs]
        found.sort(key=lambda record: -record["count"])
        return {"orders": found, "unknown": self.model.codec.unknown_tokens(tokens, source)}

    def likelihood(self, table: Mapping[str, Any]) -> Table:
        """Return bounds on log p(y | x) in nats; null for what is not known."""
        request = read(LikelihoodRequest, table, self.limits)
        source = self._source(request.source)
        tokens = self._target(request.target)
        with self._turn(request.seed):
            found = self.model.log_likelihood(source, request.target, request.samples)
        values = {name: _finite(value) for name, value in asdict(found).items()}
        unknown = self.model.codec.unknown_tokens(tokens, source)
        return {**values, "num_tokens": len(tokens), "unknown": unknown}

    def _source(self, name: str) -> Source:
        source = self.sources.find(name)
        if isinstance(source, str):
            length = len(self.model.codec.encode_source(source))
            if not length:
                return None
            _check_length("source", length, self.limits.source_length)
        return source

    def _target(self, text: str) -> list[str]:
        tokens = self.model.codec.tokenizer.target_tokens(text)
        if not tokens:
            raise DataError("expected a target with at least one token, got none: write one")
        _check_length("target", len(tokens), self.limits.max_length)
        return tokens

    def _check_rules(self, request: GenerateRequest) -> None:
        """Raise if the request needs insertions, and the decoder only writes left to right."""
        inserts = self.model.networks.decoder.slots is not None
        if not inserts and (request.gaps or request.keywords):
            raise ConfigError(
                "this model writes left to right and cannot insert: give a prefix, or take a "
                "model with insertions for gaps and keywords"
            )

    def _orders(self, request: OrderRequest, source: Source) -> list[tuple[int, ...]]:
        if request.by == "samples":
            return self.model.infer_order(source, request.target, request.samples)
        beam = request.beam if request.by == "beam" else 0
        return [self.model.infer_order(source, request.target, beam=beam)]

    @torch.no_grad()
    def _scored(
        self, source: Source, target: str, tokens: Sequence[str], orders: list[tuple[int, ...]]
    ) -> list[Trace]:
        """Return a target in some orders, with the decoder's terms of log p(y, z | x)."""
        batch = frozen_batch(self.model.codec, source, tokens).to(self.model.device)
        z = torch.tensor(orders, device=self.model.device).unsqueeze(1)  # [K, 1, n]
        terms = self.model.networks.decoder.step_log_probs(batch, z)
        return [
            Trace(
                target=target,
                tokens=tuple(tokens),
                order=order,
                slots=slots_of(order),
                kind="inferred",
                source=source_text(source),
                score=terms.joint[k, 0].item(),
                token_scores=tuple(terms.tokens[k, 0].tolist()),
                slot_scores=tuple(terms.slots[k, 0].tolist()),
            )
            for k, order in enumerate(orders)
        ]

    def _record(self, source: Source, trace: Trace, given: Given = Given()) -> Table:
        """Return a trace record with what the user gave, and where the decoder looked."""
        looked = None
        if isinstance(source, Regions) and trace.tokens:
            looked = opacities(attention_of(self.model, source, trace)).round(3).tolist()
        return {**to_record(trace), "given": asdict(given), "opacities": looked}


def _check_length(what: str, length: int, most: int) -> None:
    if length > most:
        raise DataError(f"expected a {what} of at most {most} tokens, got {length}: shorten it")


def _finite(value: int | float | None) -> int | float | None:
    return value if value is not None and math.isfinite(value) else None
