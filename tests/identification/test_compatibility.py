"""Experiments and problems of classes that do not derive, as in version 0.1."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.compatibility import as_experiment, as_problem
from sofa_softctl.identification.data.files import read_recording
from sofa_softctl.identification.effects.delay import Delayed
from sofa_softctl.identification.effects.generic import effects_of
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.parameter import Parameter
from sofa_softctl.identification.problem import load_problem
from sofa_softctl.identification.report.report import make_report

REQUIRED = "name parameters channels inputs time measured outputs sensitivities".split()
ADJOINT = ["pull_back", "measured_by_inputs"]


class Bare:
    """Some members of an experiment, in a class that does not derive."""

    def __init__(self, one, names):
        for name in names:
            setattr(self, name, getattr(one, name))


@pytest.fixture
def noisy(models):
    return models.lag(1, inputs=(replace(models.VOLTAGE, deviation=0.05),))


def test_a_bare_experiment_has_the_report_of_one_that_derives(noisy):
    bare = Bare(noisy, [*REQUIRED, *ADJOINT, "with_input_errors"])
    derived = make_report("lag", estimate([noisy]), [noisy])
    with pytest.warns(FutureWarning, match=r"Bare does not derive .*: class Bare\(Experiment\)"):
        made = make_report("lag", estimate([bare]), [bare])
    np.testing.assert_array_equal(made.trust.covariance, derived.trust.covariance)
    assert made.residuals[0].expected == derived.residuals[0].expected > 1.0


@pytest.mark.parametrize("lacks", ADJOINT)
def test_one_without_both_methods_of_the_adjoint_has_none(noisy, lacks):
    with pytest.warns(FutureWarning):
        one = as_experiment(Bare(noisy, {*REQUIRED, *ADJOINT} - {lacks}))
    assert not one.has_adjoint and one.notes == () and one.with_input_errors(0.0) is None
    assert noisy.has_adjoint


def test_a_delay_of_a_bare_experiment_has_its_defaults(noisy):
    with pytest.warns(FutureWarning):
        late = Delayed(Bare(noisy, REQUIRED), Parameter("late", 0.0, lower=-0.1, upper=0.1))
    assert not late.has_adjoint and not late.outputs_from_inputs
    assert late.with_input_errors(np.zeros((201, 1))) is None


def test_a_bare_experiment_has_effects_of_its_sensors(noisy):
    """Of its inputs only where it has a recording and with_input_errors."""
    with pytest.warns(FutureWarning):
        one = as_experiment(Bare(noisy, REQUIRED))
    assert [each.name for each in effects_of(one)] == ["gain.tip", "offset.tip", "delay.tip"]
    rho = np.array([0.3, 2.0, 0.1])
    shown = effects_of(one)[1].of(one).outputs(rho)
    np.testing.assert_allclose(shown, noisy.outputs(rho[:2]) + 0.1)
    with pytest.warns(FutureWarning):
        one = as_experiment(Bare(noisy, [*REQUIRED, "recording", "with_input_errors"]))
    assert len(effects_of(one)) == 6


def test_a_bare_problem_is_loaded_read_with_and_sent_to_other_processes(tmp_path):
    (tmp_path / "bare.py").write_text(
        "from sofa_softctl.identification import Channel\n"
        "class P:\n    name, rate, parameters, inputs = 'bare', 50.0, (), (Channel('u', 'V'),)\n"
        "    channels = ()\n    def experiment(self, recording): return recording.name\n"
        "PROBLEMS = {'bare': P}\n"
    )
    with pytest.warns(FutureWarning, match=r"class P\(Problem\)"):
        problem = load_problem(str(tmp_path / "bare.py"))
    assert problem is as_problem(problem) and problem.scene is None and problem.recorded == {}
    (tmp_path / "run.csv").write_text("time [s], u [V]\n0.0, 1\n0.0201, 2\n0.04, 3\n")
    recording = read_recording(tmp_path / "run.csv", problem)
    assert recording.time[1] == pytest.approx(0.02)  # moved to the rate
    sent = pickle.loads(pickle.dumps(problem))
    assert sent.rate == 50.0 and sent.experiment(recording) == recording.name


def test_optional_members_are_evaluated_when_they_are_asked_for(noisy):
    """They may simulate, and fail where the model cannot be simulated."""

    class Costly(Bare):
        @property
        def notes(self):
            raise RuntimeError("asked for")

    with pytest.warns(FutureWarning):
        one = as_experiment(Costly(noisy, REQUIRED))
        assert estimate([Costly(noisy, REQUIRED)]).status.ok
    with pytest.raises(RuntimeError, match="asked for"):
        one.notes  # noqa: B018


def test_what_is_missing_is_named(noisy, tmp_path):
    with (
        pytest.warns(FutureWarning),
        pytest.raises(
            IdentificationError, match="is no experiment: it has no time and no measured"
        ),
    ):
        as_experiment(Bare(noisy, {*REQUIRED} - {"time", "measured"}))
    (tmp_path / "half.py").write_text(
        "from sofa_softctl.identification import Problem\n"
        "class Half(Problem):\n    name, parameters, inputs, channels = 'half', (), (), ()\n"
        "PROBLEMS = {'half': Half}\n"
    )
    with pytest.raises(IdentificationError, match="class Half must define experiment"):
        load_problem(str(tmp_path / "half.py"))
