"""Experiments from tables, and errors that say what to do, in one line."""

import json

import pytest

from voi import config
from voi.config import ConfigError, DecoderConfig, OrderConfig, experiment
from voi.experiments import override
from voi.tables import from_table, parse_value, to_table

SMALL = {"training": {"steps": 10}}


def with_settings(*settings, table=SMALL):
    return experiment(override(table, settings))


def two_phases(**training):
    phases = [{"name": "first", "steps": 5, "num_orders": 2}, {"name": "second", "epochs": 2}]
    return {"training": {**training, "phases": phases}}


def test_defaults():
    found = experiment(SMALL)
    assert found.decoder == DecoderConfig()
    assert found.order == OrderConfig()
    assert [phase.steps for phase in found.training.phases] == [10]


def test_every_section_is_read():
    table = {
        "data": {"task": "addition", "options": {"digits": 3}},
        "decoder": {"width": 32},
        "order": {"kind": "rare"},
        "objective": {"baseline": "mean"},
        "training": {"steps": 3, "seed": 7, "decoder_betas": [0.8, 0.9]},
        "search": {"beam": 5},
    }
    found = experiment(table)
    assert (found.data.task, found.data.options) == ("addition", {"digits": 3})
    assert (found.decoder.width, found.order.kind, found.search.beam) == (32, "rare", 5)
    assert (found.objective.baseline, found.training.seed) == ("mean", 7)
    assert found.training.decoder_betas == (0.8, 0.9)


@pytest.mark.parametrize(
    ("setting", "path", "value"),
    [
        ("decoder.width=32", ("decoder", "width"), 32),
        ("decoder.dropout=1e-1", ("decoder", "dropout"), 0.1),
        ("decoder.dropout=0", ("decoder", "dropout"), 0.0),  # an integer where a number is meant
        ("order.positions=relative", ("order", "positions"), "relative"),
        ('order.positions="sinusoid+attention"', ("order", "positions"), "sinusoid+attention"),
        ("order.kind=my_orders:by_length", ("order", "kind"), "my_orders:by_length"),
        ("objective.standardize=true", ("objective", "standardize"), True),
        ("training.order_betas=[0.5, 0.6]", ("training", "order_betas"), (0.5, 0.6)),
        ("data.options.positions=9", ("data", "options"), {"positions": 9}),
        (" search.beam = 4 ", ("search", "beam"), 4),
    ],
)
def test_one_field_is_set(setting, path, value):
    section, name = path
    found = getattr(getattr(with_settings(setting), section), name)
    assert found == value
    assert type(found) is type(value)


def test_phases_take_the_fields_of_training_as_defaults():
    phases = experiment(two_phases(num_orders=6, batch_size=3)).training.phases
    assert [phase.num_orders for phase in phases] == [2, 6]
    assert [phase.batch_size for phase in phases] == [3, 3]
    assert [phase.name for phase in phases] == ["first", "second"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["decoder.widht=3"], 'unknown setting "decoder.widht": did you mean "decoder.width"?'),
        (["training.num_order=3"], 'of training "num_order": did you mean "num_orders"?'),
        (["training.sed=3"], 'unknown setting of training "sed": did you mean "seed"?'),
        (["training.phases.0.num_order=3"], 'did you mean "training.phases.0.num_orders"?'),
        (["trainning.seed=3"], 'unknown section "trainning": did you mean "training"?'),
        (["zzz=1"], 'unknown section "zzz": known: data, decoder,'),
        (["order.law=gumbel"], 'unknown order.law "gumbel": did you mean "gumbel-match'),
        (["training.steps=ten"], "training.steps must be a whole number, got 'ten'"),
        (["training.steps=-5"], "phase 'main': steps must be at least 1, got -5"),
        (["training.epochs=-1"], "phase 'main': epochs must be above 0, got -1"),
        (["decoder.width=wide"], "decoder.width must be a whole number, got 'wide'"),
        (["decoder.width=8.0"], "decoder.width must be a whole number, got 8.0"),
        (["decoder.width=true"], "decoder.width must be a whole number, got True"),
        (["decoder.dropout=true"], "decoder.dropout must be a number, got True"),
        (["objective.standardize=1"], "objective.standardize must be true or false, got 1"),
        (["order.kind=3"], "order.kind must be a text, got 3"),
        (["training.order_betas=[0.5]"], "training.order_betas must be a list of 2 values"),
        (["training.order_betas=0.5"], "training.order_betas must be a list of 2 values"),
        (["training.order_betas=ab"], "training.order_betas must be a list of 2 values, got 'ab'"),
        (["training.phases.3.steps=2"], "--set training.phases.3.steps: expected 0 to 0, got '3'"),
        (["training.phases.x.steps=2"], "expected 0 to 0, got 'x'"),
        (["training.phases=3"], "training.phases must be a list of tables"),
        (["training.phases=[]"], "training.phases must be a list of tables"),
        (["training.phases=[1]"], "training.phases.0 must be a table, got 1"),
        (["decoder=3"], "decoder must be a table, got 3"),
        (["data.options=3"], "data.options must be a table, got 3"),
        (["data.task=chain", "data.task.size=3"], "--set data.task.size: data.task has no fields"),
        (["data.task=chain", "data.task.a.b=3"], "data.task.a has no fields"),
        (["decoder.width"], "--set training.steps=60, got 'decoder.width'"),
        (["=3"], "--set wants KEY=VALUE"),
        (['order.kind="l2r'], "neither a TOML value nor a plain word"),
        (["decoder.width=60", "decoder.heads=8"], "decoder.width must be a multiple of twice"),
        (["decoder.heads=0"], "decoder.width must be a multiple of twice"),
        (["decoder.width=0"], "decoder.width must be at least 1, got 0"),
        (["order.width=-8"], "order.width must be at least 1, got -8"),
        (["order.width=2"], "order.width must be a multiple of twice"),
        (["decoder.layers=0"], "decoder.layers must be at least 1"),
        (["decoder.dropout=1.0"], "decoder.dropout must be in [0, 1), got 1.0"),
        (["order.dropout=-0.5"], "order.dropout must be in [0, 1), got -0.5"),
        (["objective.label_smoothing=-0.1"], "objective.label_smoothing must be in [0, 1)"),
        (["data.max_target_length=0"], "data.max_target_length must be at least 1, got 0"),
        (["training.batch_size=0"], "phase 'main': batch_size must be at least 1, got 0"),
        (["training.steps=0"], "phase 'main' needs either steps or epochs"),
        (["training.entropy_hold=2.0"], "entropy_hold must be from 0 to 1, got 2.0"),
        (["training.entropy_weight=0.0", "training.entropy_final=0.1"], "positive to be annealed"),
        (["training.entropy_weight=-1.0"], "entropy_weight must be at least 0, got -1.0"),
        (["training.num_orders=1"], "training.num_orders must be at least 2 for a learned order"),
        (["decoder.head=sequential"], 'decoder.head = "sequential" writes left to right only'),
        (["order.law=early-late", "objective.entropy=gumbel"], 'set order.law = "gumbel-'),
        (["order.law=plackett-luce", "order.sampler=sinkhorn"], "a way to sample from Gumbel-Mat"),
        (["order.law=my:Law", "order.sampler=sinkhorn"], 'set order.law = "gumbel-matching"'),
        (["order.tau=0.5"], 'order.tau is the temperature of order.sampler = "sinkhorn"'),
        (["order.tau=0.0"], "order.tau must be positive, got 0.0"),
        (["order.sinkhorn_iterations=20"], 'needs order.sampler = "sinkhorn"'),
        (
            ["order.law=plackett-luce", "objective.entropy=gumbel", "order.tau=2.0"],
            "set one of them",
        ),
        (
            ["order.sampler=sinkhorn", "order.sinkhorn_iterations=0"],
            "order.sinkhorn_iterations must be at least 1, got 0",
        ),
        (["order.kind=l2x"], "l2x"),
        (["training.order=l2x"], "l2x"),
        (
            ["decoder.head=sequential", "order.kind=l2r", "training.order=random"],
            'set order.kind = "l2r" in all phases (got l2r, random)',
        ),
        (["objective.ppo_steps=0"], "objective.ppo_steps must be at least 1, got 0"),
        (["objective.ppo_clip=0.2"], 'ppo_clip does nothing here: set objective.estimator = "ppo"'),
        (
            ["objective.standardize_floor=2.0"],
            "does nothing here: set objective.standardize = true",
        ),
        (["training.log_every=0"], "training.log_every must be at least 1, got 0"),
        (["training.validate_every=0"], "training.validate_every must be at least 1, got 0"),
        (["training.checkpoint_every=0"], "training.checkpoint_every must be at least 1, got 0"),
        (["training.seed=-1"], "training.seed must be at least 0, got -1"),
        (["training.clip=-1.0"], "training.clip must be at least 0, got -1.0"),
        (["training.decoder_rate=-1.0"], "phase 'main': decoder_rate must be at least 0, got -1.0"),
        (["training.warmup=-3"], "phase 'main': warmup must be at least 0, got -3"),
        (["training.alternate=[1, -2]"], "alternate must be at least 0, got -2"),
        (["order.source_layers=-1"], "order.source_layers must be at least 0, got -1"),
        (["search.beam=0"], "search.beam must be at least 1, got 0"),
        (["search.max_length=-3"], "search.max_length must be at least 0, got -3"),
        (["search.length_penalty=11"], "search.length_penalty must be from -10 to 10, got 11"),
        (["search.length_penalty=nan"], "search.length_penalty must be a finite number, got nan"),
        (["training.epochs=nan"], "epochs must be a finite number, got nan"),
        (["training.epochs=inf"], "epochs must be a finite number, got inf"),
        (["training.decoder_rate=-inf"], "decoder_rate must be a finite number, got -inf"),
        (["training.clip=inf"], "training.clip must be a finite number, got inf"),
        (["training.decoder_betas=[0.9, nan]"], "decoder_betas must be a finite number, got nan"),
        (["training.decoder_betas=[2, 0.9]"], "training.decoder_betas must be in [0, 1), got 2.0"),
        (["training.order_betas=[0.9, 1]"], "training.order_betas must be in [0, 1), got 1.0"),
        (["training.seed=18446744073709551616"], "training.seed must be below 2**63"),
        (
            ["training.share=true", "order.width=128"],
            "share needs equal width, hidden, heads, source_layers in order and decoder, got "
            "[128, 256, 4, 2] and [64, 256, 4, 2]: set them alike, or training.share=false",
        ),
    ],
)
def test_errors_say_what_to_do_in_one_line(settings, message):
    with pytest.raises(ConfigError) as caught:
        with_settings(*settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("law", ["gumbel-matching", "plackett-luce"])
def test_laws_of_scores_with_gumbel_noise_have_its_entropy(law):
    made = with_settings(f"order.law={law}", "objective.entropy=gumbel")
    assert (made.order.law, made.objective.entropy) == (law, "gumbel")


def test_steps_and_epochs_exclude_each_other():
    with pytest.raises(ConfigError, match="needs either steps or epochs, got steps=3 epochs=2"):
        experiment({"training": {"steps": 3, "epochs": 2}})


@pytest.mark.parametrize(
    "settings",
    [
        ["order.kind=l2r"],
        ["order.kind=random"],
        ["training.freeze_orders=true"],
        ["training.order=random"],
    ],
)
def test_one_order_is_enough_where_nothing_is_learned_from_it(settings):
    assert with_settings("training.num_orders=1", *settings).training.phases[0].num_orders == 1


def test_the_phase_with_too_few_orders_is_named():
    table = two_phases()
    table["training"]["phases"][1]["num_orders"] = 1
    with pytest.raises(ConfigError, match="got 1 in phase 'second'"):
        experiment(table)


@pytest.mark.parametrize(
    "table", [SMALL, two_phases(num_orders=8), {"order": {"kind": "a:b"}, **SMALL}]
)
def test_tables_round_trip(table):
    found = experiment(table)
    plain = to_table(found)
    assert experiment(plain) == found
    assert experiment(json.loads(json.dumps(plain))) == found
    assert to_table(experiment(plain)) == plain


def test_unknown_keys_of_any_dataclass():
    with pytest.raises(ConfigError, match=r'unknown setting "x\.bean": did you mean "x\.beam"'):
        from_table(config.SearchConfig, {"bean": 3}, "x.")
    with pytest.raises(ConfigError, match="phases"):
        from_table(config.TrainingConfig, {})


@pytest.mark.parametrize("text", ["", "a b", "a-b_c/d.e", "l2r"])
def test_plain_words_need_no_quotes(text):
    assert parse_value(text) == text


def test_values_are_frozen():
    with pytest.raises(AttributeError):
        experiment(SMALL).decoder.width = 3


def test_widths_may_differ_where_nothing_is_shared():
    made = with_settings("training.share=true", "order.width=128", "order.kind=l2r")
    assert made.order.width == 128


def test_a_fresh_decoder_has_no_encoder_to_share():
    for name in ("fresh_decoder", "freeze_orders"):
        settings = f"training.{name}=true", "training.share=true"
        with pytest.raises(ConfigError, match="frozen orders and a fresh decoder need share"):
            with_settings(*settings)
        assert with_settings(*settings, "order.kind=l2r").training.phases[0].share
