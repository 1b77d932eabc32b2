"""Tables of experiments: presets, files that extend others, settings, pretraining."""

import pytest

from voi.config import KINDS, Experiment, experiment
from voi.errors import ConfigError
from voi.experiments import load_table, override, presets, with_order, with_pretraining
from voi.tables import to_table
from voi.training.schedule import rate_factor


def with_settings(*settings, table):
    return experiment(override(table, settings))


def two_phases():
    phases = [{"name": "first", "steps": 5, "num_orders": 2}, {"name": "second", "epochs": 2}]
    return {"training": {"phases": phases}}


@pytest.mark.parametrize("name", presets())
def test_presets_load(name):
    found = experiment(load_table(name))
    assert isinstance(found, Experiment)
    assert experiment(to_table(found)) == found


def test_presets_say_what_they_are():
    assert (
        presets()["files"] == "Your own pairs of text: voi train --data train.tsv --valid dev.tsv"
    )
    assert all(about.endswith((".", "tsv")) for about in presets().values())


def test_experiment_files(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[training]\nsteps = 4\n", encoding="utf-8")
    assert experiment(load_table(str(path))).training.phases[0].steps == 4
    path.write_text("[training]\nsteps = 5\n", encoding="utf-8-sig")  # with a byte order mark
    assert experiment(load_table(str(path))).training.phases[0].steps == 5
    path.write_text("[training\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_table(str(path))
    path.write_text("data = 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="data must be a table, got 3"):
        load_table(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_table(str(path))
    with pytest.raises(ConfigError, match="no experiment file"):
        load_table(str(tmp_path / "other.toml"))
    with pytest.raises(ConfigError, match='unknown task "chian": did you mean "chain"'):
        load_table("chian")


def test_an_order_is_named_as_it_is():
    assert with_order({}, "true")["order"] == {"kind": "true"}


def test_a_table_may_extend_another(tmp_path):
    base = tmp_path / "base.toml"
    base.write_text("[decoder]\nwidth = 16\nheads = 2\n[training]\nsteps = 5\n")
    more = tmp_path / "more.toml"
    more.write_text(f'extends = "{base}"\n[decoder]\nwidth = 32\n')
    table = load_table(str(more))
    assert table == {"decoder": {"width": 32, "heads": 2}, "training": {"steps": 5}}
    more.write_text('extends = "files"\n[training]\nsteps = 100\nwarmup = 50\n')
    (phase,) = experiment(load_table(str(more))).training.phases
    assert (phase.steps, phase.epochs, phase.warmup, phase.warmup_share) == (100, 0, 50, 0)
    more.write_text(f'extends = "{base.name}"\n')  # beside it, wherever voi is started
    assert load_table(str(more)) == load_table(str(base))
    more.write_text(f'extends = "{more}"\n')
    with pytest.raises(ConfigError, match="extends must name another"):
        load_table(str(more))


def test_tables_that_extend_each_other_in_a_ring(tmp_path):
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text(f'extends = "{two}"\n')
    two.write_text(f'extends = "{one}"\n')
    with pytest.raises(ConfigError, match=r"two\.toml: extends must name another .*one\.toml"):
        load_table(str(one))


def test_overrides_leave_the_table_alone_and_the_last_one_wins():
    table = two_phases()
    found = with_settings("training.num_orders=8", "training.num_orders=16", table=table)
    assert [phase.num_orders for phase in found.training.phases] == [16, 16]
    assert table == two_phases()


def test_a_setting_of_training_holds_in_all_phases():
    phases = with_settings("training.num_orders=8", table=two_phases()).training.phases
    assert [phase.num_orders for phase in phases] == [8, 8]


def test_a_setting_of_one_phase():
    phases = with_settings("training.phases.1.num_orders=8", table=two_phases()).training.phases
    assert [phase.num_orders for phase in phases] == [2, 8]


def test_a_setting_of_the_only_phase_of_a_table_without_phases():
    found = with_settings("training.phases.0.num_orders=8", table={"training": {"steps": 10}})
    assert [(phase.num_orders, phase.steps) for phase in found.training.phases] == [(8, 10)]


@pytest.mark.parametrize(
    ("setting", "steps", "epochs"), [("steps=7", 7, 0), ("epochs=1.5", 0, 1.5)]
)
def test_steps_and_epochs_replace_each_other(setting, steps, epochs):
    phases = with_settings(f"training.{setting}", table=two_phases()).training.phases
    assert [(phase.steps, phase.epochs) for phase in phases] == [(steps, epochs)] * 2


@pytest.mark.parametrize("table", ["training", "training.phases.1"])
def test_steps_and_epochs_are_not_both_set(table):
    for one, other in (("steps=60", "epochs=2"), ("epochs=2", "steps=60")):
        message = f"--set {table}.{one} and --set {table}.{other} .*: a phase has either"
        with pytest.raises(ConfigError, match=message):
            with_settings(f"{table}.{one}", f"{table}.{other}", table=two_phases())


def test_steps_and_epochs_may_be_set_where_they_are_not_the_same_length():
    """In two phases, or where zero takes the other away; a task of one's own may have both."""
    settings = ("training.phases.0.steps=0", "training.phases.0.epochs=3", "training.seed=1")
    phases = with_settings(*settings, table=two_phases()).training.phases
    assert [(phase.steps, phase.epochs) for phase in phases] == [(0, 3), (0, 2)]
    settings = ("training.steps=7", "training.phases.1.epochs=3", "training.phases.1.steps=0")
    phases = with_settings(*settings, table=two_phases()).training.phases
    assert [(phase.steps, phase.epochs) for phase in phases] == [(7, 0), (0, 3)]
    own = override({}, ["data.options.steps=2", "data.options.epochs=3"])
    assert own["data"]["options"] == {"steps": 2, "epochs": 3}


@pytest.mark.parametrize("name", ["django", "coco", "gigaword", "wmt16-ro-en"])
def test_baselines_have_the_data_and_decoder_of_their_preset(name):
    plain = experiment(load_table(name))
    baseline = experiment(load_table(f"{name}-baseline"))
    assert (baseline.data, baseline.decoder) == (plain.data, plain.decoder)
    (phase,) = baseline.training.phases
    assert (baseline.order.kind, phase.decoder_rate, phase.warmup) == ("l2r", 1e-4, 8000)


def test_searched_orders_are_pretrained_in_half_of_the_only_phase():
    table = {"order": {"kind": "sao"}, "training": {"steps": 101, "num_orders": 1}}
    first, second = experiment(with_pretraining(table, "l2r")).training.phases
    assert (first.order, first.steps, first.name) == ("l2r", 50, "pretraining")
    assert (second.order, second.steps) == ("", 51)
    table["training"] = {"num_orders": 1, "phases": [{"steps": 3}, {"epochs": 2}]}
    first, second = experiment(with_pretraining(table, "l2r")).training.phases
    assert (first.order, first.steps, second.order, second.epochs) == ("l2r", 3, "", 2)


def test_rates_of_a_halved_phase_go_on_as_one():
    training = {"steps": 101, "warmup": 7, "decay": "linear", "decay_hold": 0.75}
    table = {"order": {"kind": "sao"}, "training": {"num_orders": 1, **training}}
    (whole,) = experiment(table).training.phases
    halves = experiment(with_pretraining(table, "l2r")).training.phases
    expected = [rate_factor(whole, step, 101) for step in range(101)]
    rates = [rate_factor(half, step, half.steps) for half in halves for step in range(half.steps)]
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("name", ["django", "coco", "gigaword", "wmt16-ro-en"])
def test_the_papers_searched_baseline_warms_up_once_and_falls_once(name):
    first, second = experiment(with_order(load_table(f"{name}-baseline"), "sao")).training.phases
    assert (first.warmup, first.decay) == (8000, "constant")
    assert (second.warmup, second.decay) == (0, "linear")


@pytest.mark.parametrize("kind", [*KINDS, "my_orders:by_length"])
def test_a_fixed_order_has_one_copy_unless_a_setting_says_more(kind):
    table = {"training": {"num_orders": 4, "steps": 10}}
    expected = 4 if kind in ("voi", "random") else 1
    made = experiment(with_order(table, kind))
    assert made.order.kind == kind
    assert {phase.num_orders for phase in made.training.phases} == {expected}
    made = experiment(with_order(table, kind, ["training.num_orders=3"]))
    assert {phase.num_orders for phase in made.training.phases} == {3}
    made = experiment(with_order(table, kind, copies=True))
    assert {phase.num_orders for phase in made.training.phases} == {4}
    assert [phase.order for phase in made.training.phases] == ["l2r"] * (kind == "sao") + [""]


def test_pretraining_takes_half_of_the_steps_that_a_setting_says():
    table = {"training": {"steps": 10}}
    made = experiment(with_order(table, "sao", ["training.steps=6"]))
    assert [phase.steps for phase in made.training.phases] == [3, 3]


def test_steps_of_a_phase_replace_shared_epochs_when_it_is_halved():
    table = {"training": {"epochs": 10, "num_orders": 1, "phases": [{"steps": 100}]}}
    made = experiment(with_order(table, "sao"))
    assert [(phase.steps, phase.epochs) for phase in made.training.phases] == [(50, 0), (50, 0)]
    with pytest.raises(ConfigError, match="at least 2 steps, got 1"):
        with_order({"training": {"steps": 1}}, "sao")
