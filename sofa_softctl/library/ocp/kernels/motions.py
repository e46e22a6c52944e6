"""Compiled integration of motions, with error control and with derivatives."""

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
MOST_STEPS = 20_000
"""Steps of integration after which a motion is given up."""
PARTS = 4
"""Least number of steps of an interval, and of samples of `path` in each."""
GAP = 0.55
"""Middle of the longest part of a step without a stage: there the slope is compared, too [-]."""
GUARD = 1e-3
"""Weight of that comparison beside the error of a step: what no stage has seen is found, and smooth
motions keep their steps [-]."""
STEEPER = 2.0
"""`path` may be steeper between two samples than between any two of a step by this factor [-]."""
DEEPEST = 10
"""Number of times that the part between two samples is halved, at most."""


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
    least: np.ndarray,
) -> int:
    """Integrate a motion with steps of controlled error, and find its extremes between them.

    An interval has `PARTS` steps at least, each with `PARTS` samples of `path`, so that what is
    narrower than a sixteenth of an interval alone can be overlooked.

    Args:
        dynamics, path: Codes of tapes of (x, u, z, p), sorted by these.
        x0: Initial state, shape (n,).
        u: Inputs, each constant for its interval, shape (N, m).
        z, p: Constants and parameters.
        interval: Duration of an interval [time].
        accuracy: Allowed error of a step for each state, shape (n,).
        slack: What each row of `path` may be below 0, shape (n_path,).
        x: Takes the states at the ends of the intervals, shape (N + 1, n).
        extremes: Takes least and largest of each state, shape (2, n), those of the cubic polynomial
            through the ends of each step.
        least: Takes the least of each row of `path`, shape (n_path,).

    Returns:
        Number of steps; 0: it was given up.
    """
    n, m, N = len(x0), u.shape[1], len(u)
    given = np.empty(dynamics.inputs)
    given[n + m : n + m + len(z)] = z
    given[n + m + len(z) :] = p
    memory = np.empty(dynamics.memory)
    memory_path = np.empty(path.memory)
    rows = np.zeros((PARTS + 1, path.outputs))
    k, between, seen = np.zeros((7, n)), np.empty((5, n)), np.empty(n)
    at, following = x0.copy(), np.empty(n)
    longest = interval / PARTS
    x[0] = x0
    extremes[0] = x0
    extremes[1] = x0
    least[:] = np.inf
    h, taken = longest, 0
    for number in range(N):
        given[n : n + m] = u[number]
        time = 0.0
        given[:n] = at
        run(dynamics, memory, given, k[0], dynamics.by_inputs if number else 0)
        if path.outputs:
            run(path, memory_path, given, rows[0], path.by_inputs if number else 0)
        while time < interval * (1.0 - 1e-12):
            taken += 1
            if taken > MOST_STEPS:
                return 0
            last = h >= interval - time
            step = interval - time if last else h
            for stage in range(1, 7):
                for i in range(n):
                    total = 0.0
                    for j in range(stage):
                        total += STAGES[stage, j] * k[j, i]
                    given[i] = at[i] + step * total
                run(dynamics, memory, given, k[stage], dynamics.by_states)
            worst = 0.0
            for i in range(n):
                following[i] = given[i]
                total = 0.0
                for j in range(7):
                    total += ERRORS[j] * k[j, i]
                worst = max(worst, abs(step * total) / accuracy[i])
                if not np.isfinite(following[i]):
                    worst = np.inf
            if worst <= 1.0:
                _polynomial(at, following, step, k, between)
                for i in range(n):
                    given[i] = _value(between, i, GAP)
                run(dynamics, memory, given, seen, dynamics.by_states)
                for i in range(n):
                    missed = abs(step * seen[i] - _slope(between, i, GAP))
                    worst = max(worst, GUARD * missed / accuracy[i])
            if not worst <= 1.0:
                factor = 0.2 if not np.isfinite(worst) else max(0.2, 0.9 * worst**-0.2)
                h = step * factor
                if h < 1e-9 * interval:
                    return 0
                continue
            for i in range(n):
                _extend(extremes, i, at[i], following[i], step * k[0, i], step * k[6, i])
            if path.outputs:
                for part in range(1, PARTS + 1):
                    for i in range(n):
                        given[i] = _value(between, i, part / PARTS)
                    run(path, memory_path, given, rows[part], path.by_states)
                _least_of_step(path, memory_path, given, between, rows, slack, least)
                rows[0] = rows[PARTS]
            time += step
            at[:] = following
            k[0] = k[6]
            growth = 5.0 if worst < 1e-4 else min(5.0, 0.9 * worst**-0.2)
            if not last or step * growth > h:
                h = min(step * growth, longest)
        x[number + 1] = at
    return taken


@njit
def _extend(
    extremes: np.ndarray, i: int, a: float, b: float, slope_a: float, slope_b: float
) -> None:
    """Extend least and largest by those of the cubic polynomial with these ends, on [0, 1]."""
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
    a: np.ndarray, b: np.ndarray, step: float, k: np.ndarray, found: np.ndarray
) -> None:
    """The states within a step as a polynomial of order 4, written to `found`, shape (5, n)."""
    for i in range(len(a)):
        total = 0.0
        for j in range(7):
            total += DENSE[j] * k[j, i]
        rise = b[i] - a[i]
        found[0, i], found[1, i] = a[i], rise
        found[2, i] = step * k[0, i] - rise
        found[3, i] = rise - step * k[6, i] - found[2, i]
        found[4, i] = step * total


@njit
def _value(c: np.ndarray, i: int, s: float) -> float:
    """A state at share s of the step."""
    r = 1.0 - s
    return c[0, i] + s * (c[1, i] + r * (c[2, i] + s * (c[3, i] + r * c[4, i])))


@njit
def _slope(c: np.ndarray, i: int, s: float) -> float:
    """Its derivative by the share."""
    r = 1.0 - s
    inner = c[3, i] + r * c[4, i]
    middle, inner_slope = c[2, i] + s * inner, inner - s * c[4, i]
    return c[1, i] + r * middle + s * (r * inner_slope - middle)


@njit
def _least_of_step(
    path: Code,
    memory: np.ndarray,
    given: np.ndarray,
    between: np.ndarray,
    rows: np.ndarray,
    slack: np.ndarray,
    least: np.ndarray,
) -> None:
    """Lower `least` to the least of each row of `path` within a step.

    Parts between samples are halved while a row may be lower in them, as far as its steepness
    tells: lower than 0, and than the least so far, by more than the slack.

    Source: Shubert, "A sequential method seeking the global maximum of a function", 1972.

    Args:
        path: Code of its tape, sorted.
        memory, given: Of `path`, evaluated with these inputs before; the first entries of `given`
            are overwritten.
        between: The states within the step, see `_polynomial`.
        rows: Samples, shape (PARTS + 1, n_path).
        slack, least: As in `simulate`.
    """
    n, here = between.shape[1], np.empty(rows.shape[1])
    ends, values = np.empty((DEEPEST + 2, 2)), np.empty((DEEPEST + 2, 2))
    depth = np.empty(DEEPEST + 2, np.int64)
    for r in range(rows.shape[1]):
        steep = 0.0
        for part in range(PARTS):
            steep = max(steep, PARTS * abs(rows[part + 1, r] - rows[part, r]))
        for part in range(PARTS):
            ends[0, 0], ends[0, 1] = part / PARTS, (part + 1) / PARTS
            values[0, 0], values[0, 1] = rows[part, r], rows[part + 1, r]
            depth[0], left = 0, 1
            while left:
                left -= 1
                a, b, f_a, f_b = ends[left, 0], ends[left, 1], values[left, 0], values[left, 1]
                if not np.isfinite(f_a + f_b):
                    least[r] = -np.inf
                    continue
                least[r] = min(least[r], min(f_a, f_b))
                lowest = 0.5 * (f_a + f_b - STEEPER * steep * (b - a))
                level = depth[left]
                if lowest >= min(least[r], 0.0) - slack[r] or level == DEEPEST:
                    continue
                middle = 0.5 * (a + b)
                for i in range(n):
                    given[i] = _value(between, i, middle)
                run(path, memory, given, here, path.by_states)
                steep = max(steep, 2.0 * max(abs(here[r] - f_a), abs(here[r] - f_b)) / (b - a))
                ends[left + 1, 0], ends[left + 1, 1] = middle, b
                values[left + 1, 0], values[left + 1, 1] = here[r], f_b
                ends[left, 1], values[left, 1] = middle, here[r]
                depth[left], depth[left + 1] = level + 1, level + 1
                left += 2


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
) -> None:
    """Derivatives of the states at the ends of all intervals by all inputs and constants.

    By the explicit Runge-Kutta method of order four, each interval from its simulated start.

    Args:
        dynamics, u, z, p, interval: As in `simulate`.
        x: Simulated states, shape (N + 1, n).
        steps: Steps an interval.
        sensitivity: d x_k / d (u_0, ..., u_N-1, z), shape (N + 1, n, N m + n_z); its first entry
            is given.
    """
    n, m, N, n_z = x.shape[1], u.shape[1], len(u), len(z)
    count, h = n + m + n_z, interval / steps
    given = np.empty(dynamics.inputs)
    given[n + m : n + m + n_z] = z
    given[n + m + n_z :] = p
    memory, turns = np.empty(dynamics.memory), np.empty((dynamics.memory, count))
    slope, slopes = np.zeros((4, n)), np.zeros((4, n, count))
    along = np.zeros((dynamics.inputs, count))
    for i in range(m + n_z):
        along[n + i, n + i] = 1.0
    parts = np.array([0.0, 0.5, 0.5, 1.0])
    weights = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    at, turned = np.empty(n), np.empty((n, count))
    for number in range(N):
        given[n : n + m] = u[number]
        at[:] = x[number]
        turned[:] = 0.0
        for i in range(n):
            turned[i, i] = 1.0
        for _ in range(steps):
            for stage in range(4):
                part, before = h * parts[stage], max(stage - 1, 0)
                for i in range(n):
                    given[i] = at[i] + part * slope[before, i]
                    for j in range(count):
                        along[i, j] = turned[i, j] + part * slopes[before, i, j]
                run_slopes(dynamics, memory, turns, given, along, slope[stage], slopes[stage])
            for stage in range(4):
                for i in range(n):
                    at[i] += h * weights[stage] * slope[stage, i]
                    for j in range(count):
                        turned[i, j] += h * weights[stage] * slopes[stage, i, j]
        for i in range(n):
            for j in range(sensitivity.shape[2]):
                total = 0.0
                for k in range(n):
                    total += turned[i, k] * sensitivity[number, k, j]
                sensitivity[number + 1, i, j] = total
            for j in range(m):
                sensitivity[number + 1, i, number * m + j] += turned[i, n + j]
            for j in range(n_z):
                sensitivity[number + 1, i, N * m + j] += turned[i, n + m + j]


@njit
def mean(code: Code, x: np.ndarray, u: np.ndarray, z: np.ndarray, p: np.ndarray) -> float:
    """Mean of a formula of (x, u, z, p) with one row, over the starts of all intervals."""
    n, m = x.shape[1], u.shape[1]
    given, memory, out = np.empty(code.inputs), np.empty(code.memory), np.zeros(1)
    given[n + m : n + m + len(z)] = z
    given[n + m + len(z) :] = p
    total = 0.0
    for number in range(len(u)):
        given[:n] = x[number]
        given[n : n + m] = u[number]
        run(code, memory, given, out)
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
    """A formula of (x, u, z, p) at the start of each interval, and its derivatives.

    Args:
        code: Code of its tape.
        x, u, z, p: As in `linearise`.
        values: Takes its rows, shape (N, rows).
        slopes: Takes derivatives by x, u and z, shape (N, rows, n + m + n_z).
    """
    n, m, n_z = x.shape[1], u.shape[1], len(z)
    given, count = np.empty(code.inputs), n + m + n_z
    given[n + m : count] = z
    given[count:] = p
    along = np.zeros((code.inputs, count))
    for i in range(count):
        along[i, i] = 1.0
    memory, turns = np.empty(code.memory), np.empty((code.memory, count))
    for number in range(len(u)):
        given[:n] = x[number]
        given[n : n + m] = u[number]
        run_slopes(code, memory, turns, given, along, values[number], slopes[number])
