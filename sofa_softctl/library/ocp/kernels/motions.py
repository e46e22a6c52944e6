"""Compiled integration of trajectories, with error control and with derivatives.

`simulate` is the Runge-Kutta pair of Dormand and Prince with a dense output of order 4. Between
stages the slope of that polynomial is compared with the dynamics at one more point, so that narrow
events are not stepped over. Minima of `path` within a step are found by bisection with a Lipschitz
estimate (Shubert). `linearise` differentiates RK4 steps forwards.
"""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.jit import njit
from sofa_softctl.library.ocp.kernels.formulas import Code, run, run_slopes

NODES = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
ERRORS = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
"""Source: Dormand, Prince, "A family of embedded Runge-Kutta formulae"; orders 5 and 4."""
DENSE = np.array(
    [
        -12715105075 / 11282082432,
        0.0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ]
)
"""Weights of the last term of the polynomial of order 4 between the ends of a step. Source: Hairer,
Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.6."""
STEPS_MAX = 20_000
"""Number of integration steps after which a trajectory is given up."""
PARTS_MIN = 4
"""Minimum number of steps per interval, and of samples of `path` per step."""
GAP_POSITION = 0.55
"""Middle of the longest part of a step without a stage, where slopes are compared [-]."""
GAP_ERROR_WEIGHT = 1e-3
"""Weight of the slope comparison relative to the step error: large enough to find events between
stages, small enough to keep the steps of smooth trajectories [-]."""
STEEPNESS_FACTOR = 2.0
"""Factor by which `path` may be steeper between samples than the samples of the step show [-]."""
HALVINGS_MAX = 10
"""Maximum number of times that the part between two samples is halved."""


@njit
def simulate(
    dynamics: Code,
    path: Code,
    x0: np.ndarray,
    u: np.ndarray,
    z: np.ndarray,
    p: np.ndarray,
    interval: float,
    accuracy: np.ndarray,
    slack: np.ndarray,
    x: np.ndarray,
    extremes: np.ndarray,
    path_min: np.ndarray,
) -> int:
    """Integrate a trajectory with steps of controlled error, and find its extremes between them.

    An interval has at least `PARTS_MIN` steps, each with `PARTS_MIN` samples of `path`, so only
    events narrower than a sixteenth of an interval can be overlooked.

    Args:
        dynamics, path: Codes of tapes of (x, u, z, p), sorted by these.
        x0: Initial state, shape (n,).
        u: Inputs, each constant for its interval, shape (N, m).
        z, p: Constants and parameters.
        interval: Duration of an interval [time].
        accuracy: Allowed error of a step for each state, shape (n,).
        slack: Allowed violation of each row of `path`, shape (n_path,).
        x: Output: states at the ends of the intervals, shape (N + 1, n).
        extremes: Output: smallest and largest value of each state, from the cubic polynomial
            through the ends of each step, shape (2, n).
        path_min: Output: smallest value of each row of `path`, shape (n_path,).

    Returns:
        Number of steps, or 0 if the trajectory was given up.
    """
    n, m, N = len(x0), u.shape[1], len(u)
    arguments = np.empty(dynamics.inputs)
    arguments[n + m : n + m + len(z)] = z
    arguments[n + m + len(z) :] = p
    memory = np.empty(dynamics.memory)
    memory_path = np.empty(path.memory)
    rows = np.zeros((PARTS_MIN + 1, path.outputs))
    k, polynomial, gap_slope = np.zeros((7, n)), np.empty((5, n)), np.empty(n)
    state, next_state = x0.copy(), np.empty(n)
    longest = interval / PARTS_MIN
    x[0] = x0
    extremes[0] = x0
    extremes[1] = x0
    path_min[:] = np.inf
    h, step_count = longest, 0
    for number in range(N):
        arguments[n : n + m] = u[number]
        time = 0.0
        arguments[:n] = state
        run(dynamics, memory, arguments, k[0], dynamics.by_inputs if number else 0)
        if path.outputs:
            run(path, memory_path, arguments, rows[0], path.by_inputs if number else 0)
        while time < interval * (1.0 - 1e-12):
            step_count += 1
            if step_count > STEPS_MAX:
                return 0
            last = h >= interval - time
            step = interval - time if last else h
            for stage in range(1, 7):
                for i in range(n):
                    total = 0.0
                    for j in range(stage):
                        total += STAGES[stage, j] * k[j, i]
                    arguments[i] = state[i] + step * total
                run(dynamics, memory, arguments, k[stage], dynamics.by_states)
            worst = 0.0
            for i in range(n):
                next_state[i] = arguments[i]
                total = 0.0
                for j in range(7):
                    total += ERRORS[j] * k[j, i]
                worst = max(worst, abs(step * total) / accuracy[i])
                if not np.isfinite(next_state[i]):
                    worst = np.inf
            if worst <= 1.0:
                _polynomial(state, next_state, step, k, polynomial)
                for i in range(n):
                    arguments[i] = _value(polynomial, i, GAP_POSITION)
                run(dynamics, memory, arguments, gap_slope, dynamics.by_states)
                for i in range(n):
                    slope_error = abs(step * gap_slope[i] - _slope(polynomial, i, GAP_POSITION))
                    worst = max(worst, GAP_ERROR_WEIGHT * slope_error / accuracy[i])
            if not worst <= 1.0:
                factor = 0.2 if not np.isfinite(worst) else max(0.2, 0.9 * worst**-0.2)
                h = step * factor
                if h < 1e-9 * interval:
                    return 0
                continue
            for i in range(n):
                _extend(extremes, i, state[i], next_state[i], step * k[0, i], step * k[6, i])
            if path.outputs:
                for part in range(1, PARTS_MIN + 1):
                    for i in range(n):
                        arguments[i] = _value(polynomial, i, part / PARTS_MIN)
                    run(path, memory_path, arguments, rows[part], path.by_states)
                _lower_path_min(path, memory_path, arguments, polynomial, rows, slack, path_min)
                rows[0] = rows[PARTS_MIN]
            time += step
            state[:] = next_state
            k[0] = k[6]
            growth = 5.0 if worst < 1e-4 else min(5.0, 0.9 * worst**-0.2)
            if not last or step * growth > h:
                h = min(step * growth, longest)
        x[number + 1] = state
    return step_count


@njit
def _extend(
    extremes: np.ndarray, i: int, a: float, b: float, slope_a: float, slope_b: float
) -> None:
    """Extend the extremes by the cubic polynomial on [0, 1] with these ends and slopes."""
    extremes[0, i] = min(extremes[0, i], b)
    extremes[1, i] = max(extremes[1, i], b)
    rise = b - a
    c3, c2 = slope_a + slope_b - 2.0 * rise, 3.0 * rise - 2.0 * slope_a - slope_b
    root = c2 * c2 - 3.0 * c3 * slope_a  # of slope_a + 2 c2 s + 3 c3 s^2 = 0
    if root < 0.0:
        return
    half = -c2 - np.copysign(np.sqrt(root), c2)
    for s in (half / (3.0 * c3) if c3 != 0.0 else -1.0, slope_a / half if half != 0.0 else -1.0):
        if 0.0 < s < 1.0:
            value = a + s * (slope_a + s * (c2 + s * c3))
            extremes[0, i] = min(extremes[0, i], value)
            extremes[1, i] = max(extremes[1, i], value)


@njit
def _polynomial(
    a: np.ndarray, b: np.ndarray, step: float, k: np.ndarray, coefficients: np.ndarray
) -> None:
    """Write the polynomial of order 4 of the states within a step, shape (5, n)."""
    for i in range(len(a)):
        total = 0.0
        for j in range(7):
            total += DENSE[j] * k[j, i]
        rise = b[i] - a[i]
        coefficients[0, i], coefficients[1, i] = a[i], rise
        coefficients[2, i] = step * k[0, i] - rise
        coefficients[3, i] = rise - step * k[6, i] - coefficients[2, i]
        coefficients[4, i] = step * total


@njit
def _value(c: np.ndarray, i: int, s: float) -> float:
    """Return a state at the fraction s of the step."""
    r = 1.0 - s
    return c[0, i] + s * (c[1, i] + r * (c[2, i] + s * (c[3, i] + r * c[4, i])))


@njit
def _slope(c: np.ndarray, i: int, s: float) -> float:
    """Return the derivative of a state by the fraction s of the step."""
    r = 1.0 - s
    inner = c[3, i] + r * c[4, i]
    middle, inner_slope = c[2, i] + s * inner, inner - s * c[4, i]
    return c[1, i] + r * middle + s * (r * inner_slope - middle)


@njit
def _lower_path_min(
    path: Code,
    memory: np.ndarray,
    arguments: np.ndarray,
    polynomial: np.ndarray,
    rows: np.ndarray,
    slack: np.ndarray,
    path_min: np.ndarray,
) -> None:
    """Lower `path_min` to the minimum of each row of `path` within a step.

    Parts between samples are halved while, by the steepness of a row, it may be lower there than 0
    and than its minimum so far, by more than the slack.

    Source: Shubert, "A sequential method seeking the global maximum of a function", 1972.

    Args:
        path: Code of its tape, sorted.
        memory, arguments: Workspace of `path` after an evaluation with these inputs; the states in
            `arguments` are overwritten.
        polynomial: The states within the step, see `_polynomial`.
        rows: Samples, shape (PARTS_MIN + 1, n_path).
        slack, path_min: As in `simulate`.
    """
    n, middle_rows = polynomial.shape[1], np.empty(rows.shape[1])
    ends, values = np.empty((HALVINGS_MAX + 2, 2)), np.empty((HALVINGS_MAX + 2, 2))
    depth = np.empty(HALVINGS_MAX + 2, np.int64)
    for r in range(rows.shape[1]):
        steep = 0.0
        for part in range(PARTS_MIN):
            steep = max(steep, PARTS_MIN * abs(rows[part + 1, r] - rows[part, r]))
        for part in range(PARTS_MIN):
            ends[0, 0], ends[0, 1] = part / PARTS_MIN, (part + 1) / PARTS_MIN
            values[0, 0], values[0, 1] = rows[part, r], rows[part + 1, r]
            depth[0], pending = 0, 1
            while pending:
                pending -= 1
                a, b, f_a, f_b = (
                    ends[pending, 0],
                    ends[pending, 1],
                    values[pending, 0],
                    values[pending, 1],
                )
                if not np.isfinite(f_a + f_b):
                    path_min[r] = -np.inf
                    continue
                path_min[r] = min(path_min[r], min(f_a, f_b))
                lowest = 0.5 * (f_a + f_b - STEEPNESS_FACTOR * steep * (b - a))
                level = depth[pending]
                if lowest >= min(path_min[r], 0.0) - slack[r] or level == HALVINGS_MAX:
                    continue
                middle = 0.5 * (a + b)
                for i in range(n):
                    arguments[i] = _value(polynomial, i, middle)
                run(path, memory, arguments, middle_rows, path.by_states)
                steep = max(
                    steep, 2.0 * max(abs(middle_rows[r] - f_a), abs(middle_rows[r] - f_b)) / (b - a)
                )
                ends[pending + 1, 0], ends[pending + 1, 1] = middle, b
                values[pending + 1, 0], values[pending + 1, 1] = middle_rows[r], f_b
                ends[pending, 1], values[pending, 1] = middle, middle_rows[r]
                depth[pending], depth[pending + 1] = level + 1, level + 1
                pending += 2


@njit
def linearise(
    dynamics: Code,
    x: np.ndarray,
    u: np.ndarray,
    z: np.ndarray,
    p: np.ndarray,
    interval: float,
    steps: int,
    sensitivity: np.ndarray,
    ends: np.ndarray,
) -> None:
    """Differentiate the states at the ends of all intervals by all inputs and constants.

    Each interval is integrated by RK4 from its start in `x`.

    Args:
        dynamics, u, z, p, interval: As in `simulate`.
        x: States at the starts of the intervals, shape (N + 1, n).
        steps: Number of steps per interval.
        sensitivity: Output: d x_k / d (u_0, ..., u_N-1, z), shape (N + 1, n, N m + n_z); the caller
            sets the first entry.
        ends: Output: states at the ends of the intervals, from row 1 on, shape (N + 1, n). If it is
            `x` itself, each interval starts where the one before ended: the states of a plan.
    """
    n, m, N, n_z = x.shape[1], u.shape[1], len(u), len(z)
    count, h = n + m + n_z, interval / steps
    arguments = np.empty(dynamics.inputs)
    arguments[n + m : n + m + n_z] = z
    arguments[n + m + n_z :] = p
    memory, tangents = np.empty(dynamics.memory), np.empty((dynamics.memory, count))
    slope, slopes = np.zeros((4, n)), np.zeros((4, n, count))
    directions = np.zeros((dynamics.inputs, count))
    for i in range(m + n_z):
        directions[n + i, n + i] = 1.0
    parts = np.array([0.0, 0.5, 0.5, 1.0])
    weights = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    state, state_slopes = np.empty(n), np.empty((n, count))
    for number in range(N):
        arguments[n : n + m] = u[number]
        state[:] = x[number]
        state_slopes[:] = 0.0
        for i in range(n):
            state_slopes[i, i] = 1.0
        for _ in range(steps):
            for stage in range(4):
                part, before = h * parts[stage], max(stage - 1, 0)
                for i in range(n):
                    arguments[i] = state[i] + part * slope[before, i]
                    for j in range(count):
                        directions[i, j] = state_slopes[i, j] + part * slopes[before, i, j]
                run_slopes(
                    dynamics, memory, tangents, arguments, directions, slope[stage], slopes[stage]
                )
            for stage in range(4):
                for i in range(n):
                    state[i] += h * weights[stage] * slope[stage, i]
                    for j in range(count):
                        state_slopes[i, j] += h * weights[stage] * slopes[stage, i, j]
        ends[number + 1] = state
        for i in range(n):
            for j in range(sensitivity.shape[2]):
                total = 0.0
                for k in range(n):
                    total += state_slopes[i, k] * sensitivity[number, k, j]
                sensitivity[number + 1, i, j] = total
            for j in range(m):
                sensitivity[number + 1, i, number * m + j] += state_slopes[i, n + j]
            for j in range(n_z):
                sensitivity[number + 1, i, N * m + j] += state_slopes[i, n + m + j]


@njit
def mean(code: Code, x: np.ndarray, u: np.ndarray, z: np.ndarray, p: np.ndarray) -> float:
    """Return the mean of a scalar formula of (x, u, z, p) over the starts of all intervals."""
    n, m = x.shape[1], u.shape[1]
    arguments, memory, out = np.empty(code.inputs), np.empty(code.memory), np.zeros(1)
    arguments[n + m : n + m + len(z)] = z
    arguments[n + m + len(z) :] = p
    total = 0.0
    for number in range(len(u)):
        arguments[:n] = x[number]
        arguments[n : n + m] = u[number]
        run(code, memory, arguments, out)
        total += out[0]
    return total / len(u)


@njit
def rows_along(
    code: Code,
    x: np.ndarray,
    u: np.ndarray,
    z: np.ndarray,
    p: np.ndarray,
    values: np.ndarray,
    slopes: np.ndarray,
) -> None:
    """Evaluate a formula of (x, u, z, p) and its derivatives at the start of each interval.

    Args:
        code: Code of the formula's tape.
        x, u, z, p: As in `linearise`.
        values: Output: rows of the formula, shape (N, rows).
        slopes: Output: derivatives by x, u and z, shape (N, rows, n + m + n_z).
    """
    n, m, n_z = x.shape[1], u.shape[1], len(z)
    arguments, count = np.empty(code.inputs), n + m + n_z
    arguments[n + m : count] = z
    arguments[count:] = p
    directions = np.zeros((code.inputs, count))
    for i in range(count):
        directions[i, i] = 1.0
    memory, tangents = np.empty(code.memory), np.empty((code.memory, count))
    for number in range(len(u)):
        arguments[:n] = x[number]
        arguments[n : n + m] = u[number]
        run_slopes(code, memory, tangents, arguments, directions, values[number], slopes[number])
