"""Which runs a study has."""

import itertools

import numpy as np
import pytest

from sofa_softctl.batch.study.axes import Normal, Range, Values
from sofa_softctl.batch.study.design import design

UNIT = Range(0.0, 1.0)
AXES = {"a": UNIT, "b": Range([0.0, 0.0], [1.0, 1.0])}


def samples(method, count, seed=0):
    """Shape (count, 3)."""
    return np.array([[r["a"], *r["b"]] for r in design(AXES, method, count=count, seed=seed)])


def test_a_grid_has_every_combination_in_order():
    axes = {
        "x": Range(1.0, 100.0, 3, log=True),
        "s": Values(("p", "q")),
        "n": Range(0.0, 9.0, 4, whole=True),
    }
    found = [tuple(run.values()) for run in design(axes, "grid")]
    expected = itertools.product((1.0, 10.0, 100.0), ("p", "q"), (0, 3, 6, 9))
    for one, other in zip(found, expected, strict=True):
        assert one[0] == pytest.approx(other[0], rel=1e-14) and one[1:] == other[1:]
    assert {type(run["n"]) for run in design(axes, "grid")} == {int}


def test_a_list_takes_the_values_in_step():
    axes = {"x": Values((1.0, 2.0)), "y": Values((5, 6))}
    assert list(design(axes, "list")) == [{"x": 1.0, "y": 5}, {"x": 2.0, "y": 6}]


def test_a_latin_hypercube_has_one_sample_in_each_stratum_of_each_dimension():
    found = samples("latin", 50)
    for column in np.floor(found * 50).T:
        assert sorted(column) == list(range(50))


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_more_samples_begin_with_those_of_fewer(method):
    few = samples(method, 13)
    assert len(few) == 13 and np.array_equal(samples(method, 100)[:13], few)


def test_a_sobol_sequence_of_a_power_of_two_is_balanced():
    for column in np.floor(samples("sobol", 64) * 64).T:
        assert sorted(column) == list(range(64))


@pytest.mark.parametrize("method", ["random", "latin", "sobol"])
def test_samples_depend_on_the_seed_alone(method):
    assert np.array_equal(samples(method, 20, 3), samples(method, 20, 3))
    assert not np.array_equal(samples(method, 20, 3), samples(method, 20, 4))


@pytest.mark.parametrize("method", ["grid", "random"])
def test_without_parameters_there_is_one_run(method):
    assert list(design({}, method, count=5)) == [{}]


def test_values_that_powers_give_have_no_digits_that_depend_on_the_processor():
    """Names of runs are digests of values: on another processor they are the same."""
    for axis in (Range(3.0, 700.0, log=True), Normal([1.0, 2.0], [0.1, 0.2])):
        values = np.ravel(axis.at(np.random.default_rng(0).random((500, axis.size))))
        assert all(float(f"{value:.12g}") == value for value in values)


def test_whole_numbers_are_all_as_likely():
    axis = Range(1.0, 4.0, whole=True)
    found = axis.at((np.arange(400)[:, None] + 0.5) / 400)
    assert np.bincount(found).tolist() == [0, 100, 100, 100, 100]


def test_normal_samples_have_their_mean_and_deviation():
    axis = Normal(3.0, 0.5)
    found = np.array(axis.at((np.arange(2000)[:, None] + 0.5) / 2000))
    assert found.mean() == pytest.approx(3.0, abs=1e-12)  # the quantiles are symmetric
    assert found.std() == pytest.approx(0.5, rel=1e-3)  # of cut tails
    assert np.isfinite(axis.at(np.zeros((1, 1))))
