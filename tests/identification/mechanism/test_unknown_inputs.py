"""Noisy forces as unknowns: against brute force, statistics of repeated estimates, and limits."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.effects.selection import effects_of
from sofa_softctl.identification.fitting import unknown_inputs
from sofa_softctl.identification.fitting.estimate import estimate
from sofa_softctl.identification.mechanism.signals import (
    Angle,
    EquilibriumStart,
    Feedback,
    Force,
    Output,
)
from sofa_softctl.identification.mechanism.variational import UNSTEERED
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.parameter import Parameter, starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.identification.report.make import make_report
from sofa_softctl.identification.uncertainty.identifiability import identifiability
from tests.support.chains import NOISE, chain

TRUTH = starts(chain().parameters)
TORQUE_NOISE = 0.3


def recorded(problem, seed, *, duration=2.0, every=0.01, scale=1.0, torque_noise=None):
    """A run of the problem's own model, with its noise times `scale`; seed None: without."""
    time = np.arange(0.0, duration + 1e-9, every)
    torque = np.column_stack([0.3 * np.sin(5.0 * time) for _ in problem.forces])
    fed = problem.feedback.channels if problem.feedback else ()
    blank = Recording("run", time, np.hstack([torque, np.zeros((len(time), len(fed)))]), None)
    n_y = len(problem.channels)
    loose = replace(problem, feedback=None, from_feedback=False)
    plain = replace(blank, inputs=torque, outputs=np.full((len(time), n_y), np.nan))
    exact = loose.experiment(plain).outputs(TRUTH[: len(problem.parameters)])
    if seed is None:
        random = np.zeros_like
    else:
        rng = np.random.default_rng(seed)

        def random(like):
            return scale * rng.standard_normal(like.shape)

    noise = problem.forces[0].channel.deviation if torque_noise is None else torque_noise
    inputs = torque + noise * random(torque)
    outputs = exact + NOISE * random(exact)
    if fed:
        inputs, outputs = np.hstack([inputs, outputs]), np.zeros((len(time), 0))
    return replace(blank, inputs=inputs, outputs=outputs)


def fed_back():
    """Two rods at rest at first, both driven, with a feedback to both measured angles."""
    problem = chain()
    rods = replace(problem.mechanism, parameters=problem.mechanism.parameters[:2])
    angles = tuple(Channel(f"angle_{name}", "rad", NOISE) for name in "ab")
    return replace(
        problem,
        mechanism=rods,
        outputs=tuple(Output(Angle(n), (c,)) for n, c in zip("ab", angles, strict=True)),
        forces=tuple(Force(name, Channel(f"torque_{name}", "N m", 0.02)) for name in "ab"),
        feedback=Feedback(("a", "b"), angles, np.array([[[0.5, 0.0], [0.0, 0.2]]])),
        start=EquilibriumStart(),
        from_feedback=True,
    )


@pytest.mark.parametrize("every", [0.01, 0.023, 0.004])
def test_the_likeliest_inputs_are_those_of_a_search_over_all_of_them(every):
    """Samples at the steps, and between them: cubic interpolation, taken as linear in a step."""
    problem = chain(TORQUE_NOISE)
    experiment = problem.experiment(recorded(problem, 0, duration=0.3, every=every))
    unknown, rho = experiment.with_unknown_inputs(), 1.1 * TRUTH
    found = unknown.outputs(rho)
    torque = found[:, -1][np.isfinite(unknown.measured[:, -1])]
    begin = unknown.measured[:, -1][np.isfinite(unknown.measured[:, -1])]
    sigma = unknown.channels[-1].deviation

    def residuals(given):
        errors = (given - begin)[:, None]
        motion = unknown.smoother._simulate(rho, np.zeros(0), errors, UNSTEERED)
        left = (unknown.smoother.sample @ motion.y - experiment.measured) / NOISE
        return np.concatenate([left.ravel(), (given - begin) / sigma])

    brute = least_squares(residuals, begin, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    cost = np.nansum(((found - unknown.measured) / [NOISE, NOISE, sigma]) ** 2)
    assert cost == pytest.approx(2.0 * brute.cost, rel=1e-4)
    allowed = 0.01 if every == 0.01 else 0.05  # deviations; samples between steps: see above
    np.testing.assert_allclose(torque, brute.x, atol=allowed * sigma)


@pytest.mark.parametrize("make", [lambda: chain(TORQUE_NOISE), fed_back])
def test_derivatives_are_those_of_central_differences_where_data_are_exact(make):
    problem = make()
    unknown = problem.experiment(recorded(problem, None)).with_unknown_inputs()
    rho = starts(problem.parameters)
    _, by_rho = unknown.sensitivities(rho)
    for k, value in enumerate(rho):
        e = 1e-5 * value * np.eye(len(rho))[k]
        slope = (unknown.outputs(rho + e) - unknown.outputs(rho - e)) / (2e-5 * value)
        np.testing.assert_allclose(by_rho[:, :, k], slope, atol=2e-4 * np.abs(slope).max())
    assert np.nansum((unknown.outputs(rho) - unknown.measured) ** 2) < 1e-9


def test_a_like_experiment_goes_on_from_the_likeliest_inputs():
    """Of itself made anew, and of one with an effect that is 0: both have the cost at once."""
    problem = chain(TORQUE_NOISE)
    experiment = problem.experiment(recorded(problem, 0))
    found = estimate([experiment])
    (fitted,), rho = found.experiments, found.rho
    gain = next(one for one in effects_of(experiment) if one.name == "gain.torque")
    least = fitted.cost(fitted.current_state)
    for other, place in ((experiment, rho), (gain.add_to(experiment), np.append(rho, 0.0))):
        unknown = other.with_unknown_inputs()
        state = unknown.with_parameters(fitted.current_state, place)
        assert unknown.cost(state) == pytest.approx(least, rel=1e-9)
        assert unknown.cost(unknown.state(place)) > 1.1 * least
        np.testing.assert_allclose(
            state.motion.errors, fitted.current_state.motion.errors, atol=1e-9
        )


@pytest.mark.soak
def test_noise_of_inputs_does_not_bias_estimates():
    """Stiffness and friction in deviations, mean of 10 seeds: three of its own deviations."""
    problem, z = chain(TORQUE_NOISE), {True: [], False: []}
    for seed in range(10):
        one = problem.experiment(recorded(problem, seed))
        for exact in z:
            found = estimate([one], exact_inputs=exact)
            trust = identifiability(found, [one])
            z[exact].append(((found.rho - TRUTH) / trust.deviations)[:2])
    allowed = 3.0 / np.sqrt(10)
    assert (np.abs(np.mean(z[False], axis=0)) < allowed).all()
    assert (np.abs(np.mean(z[True], axis=0)) > allowed).any()
    assert 0.5 < np.sqrt(np.mean(np.square(z[False]))) < 1.5


def test_what_noise_leaves_has_the_energy_of_the_samples_that_unknowns_do_not_take():
    """A projection: 2 angles and a torque a step, of which the torque's error is an unknown."""
    problem = chain(TORQUE_NOISE)
    unknown = problem.experiment(recorded(problem, 1)).with_unknown_inputs()
    assert unknown.unknowns == 200 and np.isfinite(unknown.measured).sum() == 602
    left = unknown.residuals_of_noise(TRUTH, 50, np.random.default_rng(0))
    energy = np.nansum(left**2, axis=(1, 2))
    assert energy.mean() == pytest.approx(402.0, abs=3.0 * np.sqrt(2.0 * 402.0 / 50.0))


def test_a_feedback_is_replaced_by_errors_of_the_forces():
    """Angles are compared as measured; a start at rest under measured angles is an unknown, too."""
    problem = fed_back()
    one = problem.experiment(recorded(problem, 3))
    unknown = one.with_unknown_inputs()
    names = [each.name for each in unknown.channels]
    assert names == ["angle_a", "angle_b", "torque_a", "torque_b"]
    assert unknown.unknowns == 2 * 200 + 2
    found = estimate([one])
    trust = identifiability(found, [one])
    assert (np.abs(found.rho - TRUTH[:2]) < 3.0 * trust.deviations).all()
    assert (trust.deviations < 0.1 * TRUTH[:2]).all()


def test_the_declared_noise_may_be_wrong_by_a_factor():
    problem = chain(0.1)
    one = problem.experiment(recorded(problem, 5, scale=2.0))
    trusted = identifiability(estimate([one]), [one])
    found = estimate([one], estimate_noise=True)
    scaled = [channel.deviation for channel in found.fits[0].channels]
    assert scaled[0] == pytest.approx(2.0 * NOISE, rel=0.15)  # of 402 samples: 3.5 %
    assert scaled[2] / scaled[0] == pytest.approx(0.1 / NOISE, rel=0.002)  # end samples count half
    ratio = identifiability(found, [one]).deviations / trusted.deviations
    assert ratio == pytest.approx(np.full(3, scaled[0] / NOISE), rel=0.05)


def test_a_report_shows_forces_beside_outputs():
    problem = chain(TORQUE_NOISE)
    one = problem.experiment(recorded(problem, 2))
    report = make_report("chain", estimate([one]), [one])
    assert [each.channel for each in report.residuals] == ["a", "b", "torque"]
    assert all(each.right for each in report.residuals)
    assert not any("too wide" in each.text for each in report.diagnostics)
    assert 0.0 < report.residuals[2].expected < 0.9  # errors that data do not show are taken as 0
    assert not report.trust.input_covariance.any()


def test_a_motion_that_could_be_recorded_again_halves_the_variance():
    problem = chain(TORQUE_NOISE)
    recording = recorded(problem, 2)
    one = problem.experiment(recording)
    found = estimate([one])
    planned = replace(recording, outputs=np.full_like(recording.outputs, np.nan))
    (next_,) = make_report(
        "chain", found, [one], candidates=[problem.experiment(planned)]
    ).candidates
    assert next_.gain == pytest.approx(1.5 * np.log(2.0), rel=0.1)  # 3 parameters
    for name, width in next_.half_widths.items():
        assert width == pytest.approx(next_.half_widths_now[name] / np.sqrt(2.0), rel=0.1)


def test_where_it_cannot_be_simulated_inputs_are_exact_and_a_warning_says_so(monkeypatch):
    problem = chain(TORQUE_NOISE)
    one = problem.experiment(recorded(problem, 2))

    def fail(*_, **__):
        raise SimulationError("A step has no solution.")

    monkeypatch.setattr(unknown_inputs, "approach", fail)
    found = estimate([one])
    assert "inputs were taken as exact" in found.warnings[-1] and found.status.ok
    np.testing.assert_array_equal(found.rho, estimate([one], exact_inputs=True).rho)


def test_a_delay_of_the_forces_is_found():
    """They act 13 ms after they are recorded: a sample and a third."""
    problem = chain(0.005)
    late = Parameter("late", 0.0, "s", lower=-0.1, upper=0.1)
    rods = replace(problem.mechanism, parameters=(*problem.mechanism.parameters, late))
    delayed = replace(problem, mechanism=rods, delay={"torque": "late"})
    recording = recorded(problem, 4)
    torque = np.interp(recording.time + 0.013, recording.time, recording.inputs[:, 0])
    one = delayed.experiment(replace(recording, inputs=torque[:, None]))
    found = estimate([one])
    trust = identifiability(found, [one])
    assert found.status.ok and trust.deviations[3] < 0.004
    assert (np.abs(found.rho - [*TRUTH, 0.013]) < 3.0 * trust.deviations).all()


def test_only_noisy_forces_that_cover_the_feedback_can_be_unknown():
    problem = fed_back()
    recording = recorded(problem, 0)
    assert problem.experiment(recording).with_unknown_inputs() is not None
    one = replace(problem.forces[0], channel=replace(problem.forces[0].channel, deviation=0.0))
    partly = replace(problem, forces=(one, problem.forces[1]))
    assert partly.experiment(recording).with_unknown_inputs() is None
    exact = chain()
    assert exact.experiment(recorded(exact, 0)).with_unknown_inputs() is None


def test_it_can_be_sent_to_another_process():
    problem = chain(TORQUE_NOISE)
    unknown = problem.experiment(recorded(problem, 0)).with_unknown_inputs()
    before = unknown.outputs(TRUTH)
    again = pickle.loads(pickle.dumps(unknown))
    np.testing.assert_allclose(again.outputs(TRUTH), before, atol=1e-6)
