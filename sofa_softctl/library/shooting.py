"""An optimal control problem as a nonlinear program, its derivatives, and its solution by IPOPT."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sofa_softctl.errors import SoftctlError
from sofa_softctl.library.ocp import Motion, OptimalControlProblem


class NlpStatus(Enum):
    """How the solver ended. The value is a sentence for people; compare by member."""

    SOLVED = "Optimal to the requested accuracy."
    INFEASIBLE = "No motion obeys all limits and ends: the problem asks for too much here."
    NOT_CONVERGED = "The solver gave up before the optimum."

    @property
    def ok(self) -> bool:
        """Whether it is an optimum."""
        return self is NlpStatus.SOLVED


@dataclass(frozen=True, eq=False)
class Optimum:
    """A solution of the nonlinear program at parameters p."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """All unknowns: z, x_0, u_0, x_1, …, x_N, shape (n_v,)."""
    lam: np.ndarray
    """Multipliers of the equations g = 0, shape (n_g,); the Lagrangian is f - lam g - mu h."""
    mu: np.ndarray
    """Multipliers of the inequalities h >= 0, not negative, shape (n_h,)."""
    cost: float
    """f."""
    status: NlpStatus
    """Solved or not."""
    seconds: float
    """Time that it took [s]."""


@dataclass(frozen=True, eq=False)
class Derivatives:
    """First and second derivatives of the program at a point, as (4) and the tangent QP need."""

    g_v: csc_array
    """Shape (n_g, n_v)."""
    g_p: np.ndarray
    """Shape (n_g, n_p)."""
    h: np.ndarray
    """Inequalities, not negative where they hold, shape (n_h,)."""
    h_v: csc_array
    """Shape (n_h, n_v)."""
    h_p: np.ndarray
    """Shape (n_h, n_p)."""
    f_v: np.ndarray
    """Gradient of the cost, shape (n_v,)."""
    l_vv: csc_array
    """Hessian of the Lagrangian, shape (n_v, n_v)."""
    l_vp: np.ndarray
    """Its mixed derivative, shape (n_v, n_p)."""


class Program:
    """min f(v, p) subject to g(v, p) = 0 and h(v, p) >= 0, from an `OptimalControlProblem`.

    v holds the constants z, then x_0, u_0, x_1, u_1, …, x_N. g: the start, the intervals, the end.
    h: lower limits, upper limits, both of what is limited at all, in the order of v, then `path`
    interval by interval.

    Args:
        problem: What is wanted.

    Raises:
        SoftctlError: CasADi is not installed.

    Source: Marcucci et al., section 2 (multiple shooting, RK4) and (mpNLP).
    """

    def __init__(self, problem: OptimalControlProblem) -> None:
        self.problem, ca = problem, casadi()
        n, m, k = len(problem.states), len(problem.inputs), len(problem.design)
        N, dt = problem.intervals, problem.horizon / problem.intervals
        self.size = k + (N + 1) * n + N * m
        starts = k + (n + m) * np.arange(N + 1)
        self.x_at = starts[:, None] + np.arange(n)
        """Places of the states in v, shape (N + 1, n_x)."""
        self.u_at = starts[:N, None] + n + np.arange(m)
        """Places of the inputs in v, shape (N, n_u)."""
        self.z_at = np.arange(k)
        """Places of the constants in v, shape (n_z,)."""
        one = [problem.design]
        one += N * [[*problem.states, *problem.inputs]] + [problem.states]
        every = [each for part in one for each in part]
        self.lower = np.array([each.lower for each in every])
        """Lower limits of v, shape (n_v,)."""
        self.upper = np.array([each.upper for each in every])
        """Upper limits of v, shape (n_v,)."""
        self.middle = np.array([each.guess for each in every])
        self._interval = self._integrator(ca, dt)
        v, p = ca.MX.sym("v", self.size), ca.MX.sym("p", len(problem.parameters))
        z, x = v[self.z_at.tolist()], [v[at.tolist()] for at in self.x_at]
        u = [v[at.tolist()] for at in self.u_at]
        X, U = ca.horzcat(*x[:-1]), ca.horzcat(*u)
        ends = self._interval.map(N)(X, U, z, p)
        g = [x[0] - _column(ca, problem.initial(z, p)), ca.vec(ca.horzcat(*x[1:]) - ends)]
        g.append(_column(ca, problem.terminal(x[-1], z, p)))
        f = sum(problem.cost(x[j], u[j], z, p) for j in range(N)) / N
        if problem.final_cost is not None:
            f = f + problem.final_cost(x[-1], z, p)
        path = [] if problem.path is None else [problem.path(x[j], u[j], z, p) for j in range(N)]
        self._v, self._p, self._f = v, p, f
        self._g = ca.vertcat(*g)
        self._path = ca.vertcat(*(_column(ca, each) for each in path))

    def _integrator(self, ca: Any, dt: float) -> Any:
        """(x, u, z, p) -> x an interval later: steps of the explicit Runge-Kutta method."""
        problem, h = self.problem, dt / self.problem.steps
        sizes = (problem.states, problem.inputs, problem.design, problem.parameters)
        x, u, z, p = (ca.SX.sym(name, len(s)) for name, s in zip("xuzp", sizes, strict=True))

        def slope(at: Any) -> Any:
            return _column(ca, problem.dynamics(at, u, z, p))

        end = x
        for _ in range(problem.steps):
            k1 = slope(end)
            k2 = slope(end + 0.5 * h * k1)
            k3 = slope(end + 0.5 * h * k2)
            k4 = slope(end + h * k3)
            end = end + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return ca.Function("interval", [x, u, z, p], [end])

    @cached_property
    def limited_below(self) -> np.ndarray:
        """Places in v that have a lower limit."""
        return np.flatnonzero(np.isfinite(self.lower))

    @cached_property
    def limited_above(self) -> np.ndarray:
        """Places in v that have an upper limit."""
        return np.flatnonzero(np.isfinite(self.upper))

    @cached_property
    def equations(self) -> int:
        """n_g."""
        return int(self._g.shape[0])

    @cached_property
    def inequalities(self) -> int:
        """n_h."""
        return len(self.limited_below) + len(self.limited_above) + int(self._path.shape[0])

    @cached_property
    def nlp(self) -> dict[str, Any]:
        """The program as CasADi's solvers take it."""
        ca = casadi()
        g = ca.vertcat(self._g, self._path)
        return {"x": self._v, "p": self._p, "f": self._f, "g": g}

    @cached_property
    def _solver(self) -> Any:
        options = {
            "ipopt.print_level": 0,
            "ipopt.sb": "yes",
            "ipopt.tol": 1e-9,
            "ipopt.max_iter": 500,
            "ipopt.bound_relax_factor": 0.0,
            "print_time": False,
            "show_eval_warnings": False,
        }
        return casadi().nlpsol("solver", "ipopt", self.nlp, options)

    def solve(self, p: np.ndarray, start: np.ndarray | None = None) -> Optimum:
        """The optimum at parameters p, sought from unknowns `start`, (n_v,), or a guess."""
        given = np.asarray(p, float)
        first = self.guess(given) if start is None else start
        rows, path = self.equations, int(self._path.shape[0])
        found = self._solver(
            x0=np.clip(first, self.lower, self.upper),
            p=given,
            lbx=self.lower,
            ubx=self.upper,
            lbg=np.zeros(rows + path),
            ubg=np.concatenate((np.zeros(rows), np.full(path, np.inf))),
        )
        stats = self._solver.stats()
        v, lam_g, lam_x = (np.array(found[k]).ravel() for k in ("x", "lam_g", "lam_x"))
        mu = (
            np.maximum(-lam_x[self.limited_below], 0.0),
            np.maximum(lam_x[self.limited_above], 0.0),
            np.maximum(-lam_g[rows:], 0.0),
        )
        return Optimum(
            given,
            v,
            -lam_g[:rows],
            np.concatenate(mu),
            float(found["f"]),
            _status(stats),
            float(stats.get("t_wall_total", 0.0)),
        )

    def guess(self, p: np.ndarray) -> np.ndarray:
        """Unknowns to start from, shape (n_v,)."""
        v = self.middle.copy()
        if self.problem.guess is not None:
            share = np.linspace(0.0, 1.0, self.problem.intervals + 1)
            v[self.x_at] = self.problem.guess(p, share)
        return v

    def motion(self, v: np.ndarray) -> Motion:
        """The motion that unknowns hold."""
        return Motion(v[self.u_at], v[self.x_at], v[self.z_at])

    def simulate(self, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        """States from the start at p under the inputs of v, shape (N + 1, n_x)."""
        motion = self.motion(v)
        x = np.empty((len(motion.u) + 1, len(self.problem.states)))
        x[0] = np.array(self._start(motion.z, p)).ravel()
        x[1:] = np.array(self._rollout(x[0], motion.u.T, motion.z, p)).T
        return x

    @cached_property
    def _start(self) -> Any:
        ca = casadi()
        z, p = (ca.SX.sym("z", len(self.z_at)), ca.SX.sym("p", len(self.problem.parameters)))
        return ca.Function("start", [z, p], [_column(ca, self.problem.initial(z, p))])

    @cached_property
    def _rollout(self) -> Any:
        return self._interval.mapaccum(self.problem.intervals)

    def cost(self, v: np.ndarray, p: np.ndarray) -> float:
        """f."""
        return float(self._cost(v, p))

    @cached_property
    def _cost(self) -> Any:
        return casadi().Function("cost", [self._v, self._p], [self._f])

    @cached_property
    def _derivatives(self) -> Any:
        ca, v, p = casadi(), self._v, self._p
        lam = ca.MX.sym("lam", self.equations)
        mu = ca.MX.sym("mu", int(self._path.shape[0]))
        lagrangian = self._f - ca.dot(lam, self._g)
        if mu.shape[0]:
            lagrangian = lagrangian - ca.dot(mu, self._path)
        l_v = ca.gradient(lagrangian, v)
        out = [
            ca.jacobian(self._g, v),
            ca.jacobian(self._g, p),
            self._path,
            ca.jacobian(self._path, v),
            ca.jacobian(self._path, p),
            ca.gradient(self._f, v),
            ca.hessian(lagrangian, v)[0],
            ca.jacobian(l_v, p),
        ]
        return ca.Function("derivatives", [v, p, lam, mu], out)

    def derivatives(self, optimum: Optimum) -> Derivatives:
        """All derivatives at an optimum."""
        v, low, high = optimum.v, self.limited_below, self.limited_above
        limits = len(low) + len(high)
        out = self._derivatives(v, optimum.p, optimum.lam, optimum.mu[limits:])
        g_v, path_v, l_vv = (csc_array(out[k].sparse()) for k in (0, 3, 6))
        g_p, path, path_p, f_v, l_vp = (out[k].full() for k in (1, 2, 4, 5, 7))
        every = csc_array(np.eye(self.size))
        rows = [every[low], -every[high], path_v]
        h_v = csc_array(_stacked(rows))
        n_p = len(self.problem.parameters)
        return Derivatives(
            g_v=g_v,
            g_p=g_p,
            h=np.concatenate((v[low] - self.lower[low], self.upper[high] - v[high], path.ravel())),
            h_v=h_v,
            h_p=np.concatenate((np.zeros((limits, n_p)), path_p.reshape(-1, n_p))),
            f_v=f_v.ravel(),
            l_vv=l_vv,
            l_vp=l_vp,
        )

    @cached_property
    def digest(self) -> str:
        """What tells the problem from others: its formulas, limits, sizes and times."""
        ca, problem = casadi(), self.problem
        x, u, z, p = (
            ca.SX.sym(name, len(s))
            for name, s in zip(
                "xuzp",
                (problem.states, problem.inputs, problem.design, problem.parameters),
                strict=True,
            )
        )
        formulas = [
            problem.dynamics(x, u, z, p),
            problem.cost(x, u, z, p),
            problem.initial(z, p),
            problem.terminal(x, z, p),
        ]
        formulas += [] if problem.path is None else [problem.path(x, u, z, p)]
        formulas += [] if problem.final_cost is None else [problem.final_cost(x, z, p)]
        told = [str(ca.cse(_column(ca, each))) for each in formulas]
        told += [repr((problem.horizon, problem.intervals, problem.steps))]
        told += [repr((self.lower.tolist(), self.upper.tolist()))]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def casadi() -> Any:
    """CasADi, which is an extra.

    Raises:
        SoftctlError: It is not installed.
    """
    try:
        import casadi as module
    except ImportError as error:
        raise SoftctlError(
            "Optimal control problems need CasADi: pip install 'sofa-softctl[library]'. Libraries "
            "that exist are used without it."
        ) from error
    return module


def _column(ca: Any, given: Any) -> Any:
    """A column from a column or a list."""
    return ca.vertcat(*given) if isinstance(given, list | tuple) else given


def _stacked(rows: list[Any]) -> Any:
    from scipy.sparse import vstack

    return vstack([each for each in rows if each.shape[0]], format="csc")


def _status(stats: dict[str, Any]) -> NlpStatus:
    told = stats["return_status"]
    if told in ("Solve_Succeeded", "Solved_To_Acceptable_Level"):
        return NlpStatus.SOLVED
    if told == "Infeasible_Problem_Detected":
        return NlpStatus.INFEASIBLE
    return NlpStatus.NOT_CONVERGED
