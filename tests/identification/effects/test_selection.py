"""Effects by name, and numbers that are known with an uncertainty."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sofa_softctl.cli.app import app
from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.effects.selection import (
    effects_of_problem,
    uncertain,
    with_effects,
)
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.model.parameter import Parameter, Prior
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.uncertainty.identifiability import identifiability

PROBLEM = str(Path(__file__).parents[1] / "lag_problem.py")


@pytest.fixture
def lines(monkeypatch):
    """The module line_problem.py."""
    monkeypatch.syspath_prepend(str(Path(PROBLEM).parent))
    import line_problem

    return line_problem


def test_effects_are_switched_on_by_names_and_patterns_in_their_own_order(models):
    problem = with_effects(models.LagProblem(), ["delay.tip", "offset.*"])
    names = [one.name for one in problem.parameters]
    assert names == ["tau", "gain", "offset.tip", "delay.tip", "offset.drive"]
    one = problem.experiment(models.lag().recording)
    assert [each.name for each in one.parameters] == names
    assert problem.rate == 50.0 and problem.channels == models.LagProblem().channels
    assert "offset.tip" not in {each.name for each in effects_of_problem(problem)}
    own = models.LagProblem()
    assert with_effects(own, []) is own


def test_an_unknown_effect_lists_the_known_ones(models):
    with pytest.raises(
        IdentificationError, match="no effect 'ofset.tip'. Did you mean 'offset.tip'.* Known:"
    ):
        with_effects(models.LagProblem(), ["ofset.tip"])


def test_known_numbers_have_a_prior_about_their_start():
    mass, relative = Parameter("m", 0.5, "kg"), Parameter("mass.link", 0.0, "-", lower=-0.9)
    drift = Parameter("offset.b", 0.0, "rad", lower=-1.0)
    given = {"m": "5%", "mass.*": "5%", "offset.b": "0.01"}
    found = [one.prior for one in uncertain([mass, relative, drift], given)]
    assert found == [Prior(0.5, 0.025), Prior(0.0, 0.05), Prior(0.0, 0.01)]
    with pytest.raises(IdentificationError, match="no parameter 'n'. There are: m."):
        uncertain([mass], {"n": "5%"})
    with pytest.raises(IdentificationError, match="'offset.b' starts at 0, of which '5%' is 0"):
        uncertain([drift], {"offset.b": "5%"})
    for wrong in ("-1", "much", "0", "nan"):
        with pytest.raises(IdentificationError, match=f"uncertainty of 'm' is '{wrong}'.*in kg"):
            uncertain([mass], {"m": wrong})


TIME = np.linspace(0.0, 1.0, 51)


def line(lines, offset, rng):
    """Measured of y = 2 u + offset, with noise."""
    y = 2.0 * TIME + offset + lines.NOISE * rng.standard_normal(len(TIME))
    return Recording("line", TIME, 1.0 + TIME[:, None], (y + 2.0)[:, None])


def test_an_uncertain_number_widens_the_intervals_as_in_closed_form(lines):
    """y = a u + b, b known to 0.1: the inverse of X'X / s^2 + diag(0, 1 / 0.1^2)."""
    parameters = uncertain(lines.LineProblem().parameters, {"offset": 0.1})
    one = lines.LineProblem().experiment(line(lines, 0.5, np.random.default_rng(0)))
    trust = identifiability(estimate([one], parameters), [one])
    X = np.column_stack([1.0 + TIME, np.ones(51)]) / lines.NOISE
    covariance = np.linalg.inv(X.T @ X + np.diag([0.0, 100.0]))
    np.testing.assert_allclose(trust.covariance, covariance, rtol=1e-6)
    fixed = identifiability(estimate([one], fixed=["offset"]), [one])
    assert trust.deviations[0] > 3.0 * fixed.deviations[0]


def test_intervals_cover_where_a_known_number_is_drawn_from_its_prior(lines):
    """95 % of 200, within three deviations of the binomial distribution; fixed, far fewer."""
    rng, problem = np.random.default_rng(1), lines.LineProblem()
    parameters = uncertain(problem.parameters, {"offset": 0.1})
    covered = {"known": 0, "fixed": 0}
    for _ in range(200):
        one = problem.experiment(line(lines, 0.5 + 0.1 * rng.standard_normal(), rng))
        known, fixed = estimate([one], parameters), estimate([one], fixed=["offset"])
        for name, found in (("known", known), ("fixed", fixed)):
            width = 1.96 * identifiability(found, [one]).deviations[0]
            covered[name] += bool(abs(found.value("slope") - 2.0) < width)
    assert 190 - 3 * np.sqrt(9.5) <= covered["known"] <= 190 + 3 * np.sqrt(9.5)
    assert covered["fixed"] < 120


@pytest.fixture
def file(models, tmp_path):
    """A lag whose sensor is off by 0.3 mm, in a recording."""
    one = models.lag(1)
    table = np.column_stack([one.time, one.recording.inputs, one.measured + 0.3])
    header = "time [s], drive [V], tip [mm]"
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header=header, comments="")
    return tmp_path / "run.csv"


def identify(*options):
    return CliRunner().invoke(app, ["identify", PROBLEM, *map(str, options)])


def test_the_command_switches_effects_on(file):
    data = ["--data", file, "--json"]
    shown = identify("--list-effects").output
    assert "offset.tip    mm" in shown and "gain.drive    -" in shown
    found = identify(*data, "--with", "offset.tip", "--uncertain", "gain.drive=5%")
    made = json.loads(found.stdout)["parameters"]
    assert {each["name"] for each in made} == {"tau", "gain", "offset.tip", "gain.drive"}
    offset = next(each for each in made if each["name"] == "offset.tip")
    assert offset["value"] == pytest.approx(0.3, abs=0.02)
    gain = next(each for each in made if each["name"] == "gain")
    alone = json.loads(identify(*data, "--with", "offset.tip").stdout)["parameters"]
    before = next(each for each in alone if each["name"] == "gain")
    assert gain["high"] - gain["low"] > 3.0 * (before["high"] - before["low"])


def test_the_command_says_what_is_wrong(file):
    data = ["--data", file]
    unknown = identify(*data, "--with", "friction.tip").exception
    assert "no effect 'friction.tip'" in str(unknown)
    wrong = identify(*data, "--uncertain", "gain")
    assert "--uncertain needs NAME=DEVIATION, got 'gain'" in str(wrong.exception)


def test_workers_have_the_effects_too(file):
    from sofa_softctl.identification.effects.selection import read_experiments

    source, data = PROBLEM, [str(file)]
    (one,) = read_experiments(source, "", data, ["offset.tip"])
    assert [each.name for each in one.parameters] == ["tau", "gain", "offset.tip"]
