"""Derivatives of a whole motion by `StepDerivative`, and by differences of whole simulations."""

from types import SimpleNamespace

import numpy as np
import pytest

from sofa_softctl.runtime.derivatives.step_derivative import Cotangent, Tangent


def simulate(step, drive, start=None):
    """Every step from the start on, and position and velocity after the last."""
    x, v = (step.x0, step.v0) if start is None else start
    taken = []
    for u in drive:
        step.evaluate(x, step.dt)
        taken.append(step.advance(v, u))
        x, v = x + step.dt * taken[-1].w, taken[-1].w
    return taken, x, v


def weights(step):
    rng = np.random.default_rng(3)
    return Cotangent(*rng.normal(size=(2, step.size, 3)) * [[[1.0]], [[0.02]]])


def weighed(weight, x, v):
    return np.vdot(weight.x, x) + np.vdot(weight.v, v)


def forward(derivative, taken, drive=None):
    """Derivatives of the last state by the parameters (and by what `drive` depends on)."""
    count = len(derivative.parameters)
    tangent = Tangent(*np.zeros((2, count, derivative.step.size, 3)))
    for number, one in enumerate(taken):
        derivative.set_step(one)
        tangent = derivative.forward(tangent, None if drive is None else drive[:, number])
    return tangent


def backward(derivative, taken, cotangent):
    """Derivatives of a weighted last state by the parameters, each drive, and the first state."""
    sums, by_drive = derivative.sums(), []
    for one in reversed(taken):
        derivative.set_step(one)
        cotangent, found = derivative.backward(cotangent, sums)
        by_drive.insert(0, found)
    return derivative.collect(sums), np.array(by_drive), cotangent


def slope(function, value, relative=1e-3):
    """Derivative by central differences of fourth order: errs by 1e-12 of the fifth derivative, and
    by 1e-13 of the value."""
    h = relative * value
    ends = [function(value + k * h) for k in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


def by_parameters(derivative, drive, weight):
    """Differences of the weighted last state by the parameters."""
    step, found = derivative.step, []
    for parameter in derivative.parameters:
        value = parameter.get()

        def ended(changed, parameter=parameter):
            parameter.set(changed)
            _, x, v = simulate(step, drive)
            return weighed(weight, x - step.x0, v)

        found.append(slope(ended, value))
        parameter.set(value)
    return np.array(found)


def by_drive(step, drive, weight, number, column):
    """Difference of the weighted last state by what one drive imposes in one step."""

    def ended(value):
        moved = drive.copy()
        moved[number, column] = value
        _, x, v = simulate(step, moved)
        return weighed(weight, x - step.x0, v)

    return slope(ended, drive[number, column])


@pytest.fixture(scope="session")
def motion():
    """The functions above."""
    functions = (simulate, weights, weighed, forward, backward, by_parameters, by_drive, slope)
    return SimpleNamespace(**{one.__name__: one for one in functions})
