"""Experiments: frozen dataclasses, checked when they are made, and built from plain tables."""

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from voi.errors import ConfigError
from voi.tables import (
    as_table,
    convert,
    from_table,
    require,
    require_between,
    require_fractions,
    require_least,
    require_read,
    unknown_name,
)

KINDS = ("voi", "l2r", "r2l", "common", "rare", "random", "tree", "sao")
LAWS = ("gumbel-matching", "plackett-luce", "matrix-plackett-luce", "early-late")
GUMBEL_LAWS = ("gumbel-matching", "plackett-luce")  # their entropy has a bound by Gumbel noise
Positions = Literal["sinusoid", "sinusoid+attention", "relative", "xl"]


def check_kind(order: str) -> None:
    """Raise the error of an order that nobody knows."""
    if order not in KINDS and ":" not in order:
        raise unknown_name("order", order, [*KINDS, "module:function"])


@dataclass(frozen=True)
class DataConfig:
    """Which pairs are learned, and how their text becomes tokens."""

    task: str = "chain"  # an embedded task or a prepared data set
    options: Mapping[str, Any] = field(default_factory=dict)  # fields of that task
    tokens: Mapping[str, Any] = field(default_factory=dict)  # kind and options of the codec
    max_source_length: int = 512  # tokens
    max_target_length: int = 256  # tokens, END aside
    long_examples: Literal["error", "skip"] = "error"  # skipped ones are counted and reported
    cache: str = ""  # a folder for the arrays of a run, mapped from there; empty: in memory

    def __post_init__(self) -> None:
        require_least(self, "data.", max_source_length=1, max_target_length=1)


@dataclass(frozen=True)
class DecoderConfig:
    """The insertion decoder p(y, z | x), with its source encoder."""

    width: int = 64
    hidden: int = 256  # inner width of feed-forward layers
    heads: int = 4
    source_layers: int = 2
    layers: int = 2
    dropout: float = 0.0
    head: Literal["insertion", "sequential"] = "insertion"  # sequential: left to right, no slots
    count_steps: bool = True  # tokens know at which step they were written

    def __post_init__(self) -> None:
        _check_network(self, "decoder.")


@dataclass(frozen=True)
class OrderConfig:
    """The order in which targets are written: learned, or one of the baselines."""

    kind: str = "voi"  # one of KINDS, or module:function
    law: str = "gumbel-matching"  # one of LAWS, or module:Class
    sampler: Literal["assignment", "sinkhorn"] = "assignment"  # sinkhorn: as in the paper
    tau: float = 1.0  # temperature of sinkhorn, and of the Gumbel entropy
    sinkhorn_iterations: int = 200  # scalings of rows and columns
    positions: Positions = "xl"  # how the generator knows where a token stands
    rows: Literal["step", "position"] = "step"  # what row t of the matrix is computed from
    tags: bool = False  # the generator sees parts of speech, given by data.tokens.tags
    beam: int = 8  # sao: hypotheses of the search
    weighting: Literal["best", "uniform", "softmax"] = "best"  # sao: how the orders found are drawn
    width: int = 64
    hidden: int = 256
    heads: int = 4
    source_layers: int = 2
    layers: int = 2
    dropout: float = 0.0
    token_dropout: float = 0.0  # share of target tokens the generator does not see in training

    def __post_init__(self) -> None:
        _check_network(self, "order.")
        require_least(self, "order.", beam=1, sinkhorn_iterations=1)
        require(self.tau > 0, f"order.tau must be positive, got {self.tau}")
        require_fractions(self, "order.", "token_dropout")
        check_kind(self.kind)
        if self.law not in LAWS and ":" not in self.law:
            raise unknown_name("order.law", self.law, [*LAWS, "module:Class"])

    @property
    def is_learned(self) -> bool:
        return self.kind == "voi"


def _check_network(config: DecoderConfig | OrderConfig, where: str) -> None:
    require(
        config.heads >= 1 and config.width % (2 * config.heads) == 0,
        f"{where}width must be a multiple of twice {where}heads, "
        f"got {config.width} and {config.heads}",
    )
    require_least(config, where, width=1, hidden=1, layers=1, source_layers=0)
    require_fractions(config, where, "dropout")


def check_sharing(order: OrderConfig, decoder: DecoderConfig) -> None:
    """Raise where the generator cannot use the decoder's source encoder and embedding."""
    same = ("width", "hidden", "heads", "source_layers")
    ours, theirs = ([getattr(config, name) for name in same] for config in (order, decoder))
    require(
        ours == theirs,
        f"share needs equal {', '.join(same)} in order and decoder, got {ours} and {theirs}: set "
        f"them alike, or training.share=false",
    )


@dataclass(frozen=True)
class Phase:
    """One stretch of training. A preset gives defaults in [training], phases override them."""

    name: str = "main"
    steps: int = 0  # updates; 0: counted in epochs
    epochs: float = 0.0
    order: str = ""  # another order than order.kind for this phase: "random" is the warm start
    share: bool = False  # generator uses the decoder's source encoder and token embedding
    align: float = 0.0  # weight of the cosine loss between the two token embeddings
    freeze_orders: bool = False  # the generator samples but does not learn
    fresh_decoder: bool = False  # the decoder starts anew, with new weights
    alternate: tuple[int, int] = (0, 0)  # decoder-only steps, then generator-only steps
    batch_size: int = 64  # examples
    max_tokens: int = 0  # target tokens per batch, padding included; 0: no budget
    accumulate: int = 1  # batches per update
    num_orders: int = 4  # K, orders sampled per example
    decoder_rate: float = 1e-3
    order_rate: float = 1e-3
    warmup: int = 0  # steps
    warmup_share: float = 0.0  # of the phase, at most so much warms up; 0: no limit
    decay: Literal["constant", "linear"] = "constant"  # linear: to zero at the end of the phase
    decay_hold: float = 0.0  # share of the phase before decay starts
    entropy_weight: float = 1.0  # beta at the start
    entropy_final: float = -1.0  # beta at the end, reached log-linearly; negative: constant
    entropy_hold: float = 0.0  # share of the phase before annealing starts

    def __post_init__(self) -> None:
        where = f"phase {self.name!r}"
        require(self.steps >= 0, f"{where}: steps must be at least 1, got {self.steps}")
        require(self.epochs >= 0, f"{where}: epochs must be above 0, got {self.epochs:g}")
        require(
            (self.steps > 0) != (self.epochs > 0),
            f"{where} needs either steps or epochs, got steps={self.steps} epochs={self.epochs:g}",
        )
        require_least(self, f"{where}: ", batch_size=1, accumulate=1, num_orders=1, max_tokens=0)
        require_least(self, f"{where}: ", decoder_rate=0, order_rate=0, warmup=0, align=0)
        require_least(self, f"{where}: ", alternate=0, entropy_weight=0)
        check_kind(self.order or "voi")
        require_between(self, f"{where}: ", 0, 1, "entropy_hold", "decay_hold", "warmup_share")
        require(
            self.entropy_final < 0 or self.entropy_weight > 0,
            f"{where}: entropy_weight must be positive to be annealed, got {self.entropy_weight}",
        )


@dataclass(frozen=True)
class ObjectiveConfig:
    """How the order generator learns from the decoder's scores."""

    estimator: Literal["reinforce", "ppo"] = "reinforce"
    baseline: Literal["leave_one_out", "mean"] = "leave_one_out"
    standardize: bool = False  # divide advantages by their deviation over the K orders
    standardize_floor: float = 1.0  # nats, the least deviation to divide by
    entropy: Literal["score", "gumbel"] = "score"  # inside the reward, or the paper's Gumbel term
    label_smoothing: float = 0.0  # of the decoder's token loss; rewards are never smoothed
    ppo_steps: int = 3
    ppo_clip: float = 0.1

    def __post_init__(self) -> None:
        require_fractions(self, "objective.", "label_smoothing")
        require(
            self.standardize_floor > 0,
            f"objective.standardize_floor must be positive, got {self.standardize_floor}",
        )
        require_least(self, "objective.", ppo_steps=1, ppo_clip=0)
        advice = "set objective.standardize = true"
        require_read(self, "objective.", self.standardize, advice, "standardize_floor")
        is_ppo, advice = self.estimator == "ppo", 'set objective.estimator = "ppo"'
        require_read(self, "objective.", is_ppo, advice, "ppo_steps", "ppo_clip")


@dataclass(frozen=True)
class TrainingConfig:
    """What holds for the whole run; the phases say the rest."""

    phases: tuple[Phase, ...]
    seed: int = 0
    decoder_betas: tuple[float, float] = (0.9, 0.98)
    order_betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0  # largest gradient norm of each network; 0: no clipping
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    recompute: bool = False  # states inside blocks are computed again: less memory, more time
    device: str = "cpu"
    split: Literal["batches", "orders"] = "batches"  # what several processes divide
    shard: bool = False  # they also divide parameters, gradients and Adam's moments
    log_every: int = 20  # steps
    validate_every: int = 500  # steps
    checkpoint_every: int = 500  # steps
    keep_every: int = 0  # steps whose checkpoints are kept for good; 0: the last and the best only
    valid_examples: int = 256  # examples used for validation while training

    def __post_init__(self) -> None:
        require_least(self, "training.", seed=0, clip=0, log_every=1, validate_every=1)
        require_least(self, "training.", checkpoint_every=1, keep_every=0, valid_examples=1)
        require(self.seed < 2**63, f"training.seed must be below 2**63, got {self.seed}")
        require_fractions(self, "training.", "decoder_betas", "order_betas")


@dataclass(frozen=True)
class SearchConfig:
    """How targets are written when the reference is not at hand."""

    beam: int = 1
    length_penalty: float = 0.0
    max_length: int = 0  # tokens; 0: the longest training target

    def __post_init__(self) -> None:
        require_least(self, "search.", beam=1, max_length=0)
        require_between(self, "search.", -10, 10, "length_penalty")


@dataclass(frozen=True)
class Experiment:
    """Everything that defines a run. Stored with every checkpoint."""

    data: DataConfig
    decoder: DecoderConfig
    order: OrderConfig
    objective: ObjectiveConfig
    training: TrainingConfig
    search: SearchConfig

    def __post_init__(self) -> None:
        for phase in self.training.phases:
            require(
                phase.order != "voi" or self.order.is_learned,
                f"phase {phase.name!r} has order voi, the experiment {self.order.kind!r}: only the "
                f"experiment's own order is learned; set order.kind = voi",
            )
            is_learned = phase.order in ("", self.order.kind) and self.order.is_learned
            if is_learned and phase.share:
                check_sharing(self.order, self.decoder)
                require(
                    not (phase.freeze_orders or phase.fresh_decoder),
                    f"phase {phase.name!r}: frozen orders and a fresh decoder need share = false",
                )
            require(
                phase.num_orders >= 2 or not is_learned or phase.freeze_orders,
                f"training.num_orders must be at least 2 for a learned order, got "
                f"{phase.num_orders} in phase {phase.name!r}: the baseline is the mean over "
                f"sampled orders",
            )
        orders = {self.order.kind, *(phase.order or "l2r" for phase in self.training.phases)}
        require(
            self.decoder.head == "insertion" or orders == {"l2r"},
            f'decoder.head = "sequential" writes left to right only: set order.kind = "l2r" in '
            f'all phases (got {", ".join(sorted(orders))}) or decoder.head = "insertion"',
        )
        require(
            not self.order.tags or bool(self.data.tokens.get("tags")),
            "order.tags needs a tagger: set data.tokens.tags = hanta, a file of "
            "`voi data tagger`, or module:function",
        )
        require(
            self.objective.entropy == "score" or self.order.law in GUMBEL_LAWS,
            'objective.entropy = "gumbel" is the entropy of scores with Gumbel noise: '
            'set order.law = "gumbel-matching" or "plackett-luce", or objective.entropy = "score"',
        )
        self._check_sampler()

    def _check_sampler(self) -> None:
        """Raise where a setting of Gumbel-Matching's sampler would do nothing."""
        order = self.order
        has_sinkhorn = order.sampler == "sinkhorn"
        require(
            not has_sinkhorn or order.law == "gumbel-matching",
            f'order.sampler = "{order.sampler}" is a way to sample from Gumbel-Matching: set '
            f'order.law = "gumbel-matching" or leave order.sampler out',
        )
        require(
            has_sinkhorn or order.sinkhorn_iterations == OrderConfig.sinkhorn_iterations,
            'order.sinkhorn_iterations needs order.sampler = "sinkhorn"',
        )
        has_gumbel = order.law == "gumbel-matching" and self.objective.entropy == "gumbel"
        require(
            has_sinkhorn or has_gumbel or order.tau == OrderConfig.tau,
            'order.tau is the temperature of order.sampler = "sinkhorn", and of '
            'objective.entropy = "gumbel" with order.law = "gumbel-matching": set one of them',
        )


def experiment(table: Mapping[str, Any]) -> Experiment:
    """Return the experiment a table of plain values describes.

    Fields of a phase that stand in [training] itself are the defaults of every phase.
    """
    tables = {name: as_table(table.get(name, {}), name) for name in _SECTIONS}
    for name in table:
        if name not in tables:
            raise unknown_name("section", name, _SECTIONS)
    training = tables["training"]
    for key in training.keys() - _TRAINING_FIELDS:
        raise unknown_name("setting of training", key, _TRAINING_FIELDS)
    shared = {key: training.pop(key) for key in list(training) if key in PHASE_FIELDS}
    for key, value in shared.items():  # named as they were set, not as fields of every phase
        convert(_PHASE_TYPES[key], value, f"training.{key}")
    phases = training.get("phases", [{}])
    if not isinstance(phases, list | tuple) or not phases:
        raise ConfigError(f"training.phases must be a list of tables, one each, got {phases!r}")
    training["phases"] = [
        with_defaults(as_table(phase, f"training.phases.{i}"), shared)
        for i, phase in enumerate(phases)
    ]
    return typing.cast(Experiment, from_table(Experiment, tables))


def with_defaults(phase: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return a phase with the shared values it does not set; its epochs replace shared steps."""
    said = phase.keys() | {EXCLUSIVE[name] for name in phase.keys() & EXCLUSIVE.keys()}
    return {**{key: value for key, value in shared.items() if key not in said}, **phase}


_SECTIONS = tuple(f.name for f in dataclasses.fields(Experiment))
_PHASE_TYPES = typing.get_type_hints(Phase)
PHASE_FIELDS = {f.name for f in dataclasses.fields(Phase)}
_TRAINING_FIELDS = PHASE_FIELDS | {f.name for f in dataclasses.fields(TrainingConfig)}
EXCLUSIVE = {  # a field, and which other one that is said before it takes the place of
    "steps": "epochs",
    "epochs": "steps",
    "warmup": "warmup_share",
}
