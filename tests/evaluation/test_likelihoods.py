"""Likelihoods of a split against enumeration."""

import json
import math

import pytest
import torch

from chance import errors
from voi.data import Example
from voi.data.tasks import make_task
from voi.errors import DataError
from voi.evaluation.likelihoods import TargetLikelihood, likelihood_of, per_token, write_likelihoods


def _examples(model):
    data = model.experiment.data
    return make_task(data.task, data.options).split("test")


def _found(model, path, samples, count=4, **options):
    about = {"split": "test"}
    return write_likelihoods(model, _examples(model), count, path, samples, about, {}, **options)


@pytest.mark.statistical
def test_bound_lies_between_elbo_and_the_enumerated_value(chain, tmp_path):
    """For n = 4 all 24 orders are summed; with 64 samples the bound is 4 standard errors near."""
    for samples in (2, 64):
        rows = per_token(
            _found(chain, tmp_path / f"{samples}.jsonl", samples, count=3), samples, "x"
        )
        elbo, bound, exact = rows
        assert [row.name for row in rows] == ["elbo", "log_p_bound", "log_p_exact"]
        assert elbo.value <= bound.value + 1e-9
    assert abs(exact.value - bound.value) < errors() * bound.standard_error


def test_per_token_values_are_ratios_of_sums():
    """Two targets of 1 + 1 and 7 + 1 tokens, by hand."""
    short = TargetLikelihood(2, elbo=-3.0, bound=-2.5, standard_error=0.3, exact=-2.0)
    long = TargetLikelihood(8, elbo=-9.0, bound=-8.0, standard_error=0.4, exact=None)
    elbo, bound, bound_short, exact = per_token([short, long], 4, "x")
    assert elbo.value == pytest.approx(-12.0 / 10)
    assert bound.value == pytest.approx(-10.5 / 10)
    assert bound.standard_error == pytest.approx(0.5 / 10)  # 3, 4, 5
    assert (bound_short.value, bound_short.standard_error) == pytest.approx((-1.25, 0.15))
    assert exact.value == pytest.approx(-1.0)
    assert "short targets" in exact.name
    assert len(exact.values) == 1
    assert all("samples:4" in row.signature for row in (elbo, bound, bound_short))
    assert "samples" not in exact.signature  # all orders are summed, none is drawn
    none = per_token([long], 4, "x")[-1]
    assert none.value is None
    assert "short enough" in none.skipped


def test_each_target_has_its_own_seed(chain, tmp_path):
    all_of_them = _found(chain, tmp_path / "all.jsonl", 4)
    example = _examples(chain)[3]
    torch.manual_seed(123)
    state = torch.get_rng_state()
    assert likelihood_of(chain, example, 4, seed=3) == all_of_them[3]
    assert torch.equal(torch.get_rng_state(), state)  # the caller's random numbers are untouched
    assert likelihood_of(chain, example, 4, seed=6).bound != all_of_them[3].bound


def test_goes_on_where_it_stopped(chain, tmp_path):
    whole, path = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    expected = _found(chain, whole, 4, count=4)
    _found(chain, path, 4, count=2)
    path.write_bytes(path.read_bytes() + b'{"source": "from-l')
    told = []
    assert _found(chain, path, 4, count=4, told=lambda *what: told.append(what)) == expected
    assert path.read_bytes() == whole.read_bytes()
    assert told == [("likelihood", 2, 4), ("likelihood", 4, 4)]
    with pytest.raises(DataError, match="for likelihood_samples 4, this command has 5"):
        _found(chain, path, 5)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(lines[0]), "target": "no"}), ""]))
    with pytest.raises(DataError, match=r"part\.jsonl:1 has target 'no'"):
        _found(chain, path, 4)


def test_one_sample_has_no_standard_error(chain, tmp_path):
    found = _found(chain, tmp_path / "x.jsonl", 1, count=2)
    assert [one.standard_error for one in found] == [None, None]
    assert per_token(found, 1, "x")[1].standard_error is None
    assert found[0].elbo == found[0].bound


def test_left_to_right_without_slots_is_exact(make_model):
    """The probabilities of all sentences of two words cannot exceed 1."""
    model = make_model("decoder.head=sequential", "order.kind=l2r", "training.num_orders=1")
    words = ["A", "B", "C"]
    pairs = [Example("from-left a b c", f"{a} {b}") for a in words for b in words]
    found = [likelihood_of(model, pair, 2, seed=0) for pair in pairs]
    assert all(one.exact == one.bound for one in found)
    assert sum(math.exp(one.exact) for one in found) < 1.0
