"""Multiple shooting: the nonlinear program, its derivatives, and its solution by IPOPT."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, eye_array, vstack

from sofa_softctl.base.processes import interrupted_after
from sofa_softctl.library.ocp.formulas import casadi, formulas, model_of, rk4
from sofa_softctl.library.ocp.problem import Motion, OptimalControlProblem
from sofa_softctl.status import Status

_REASONS = {
    Status.INFEASIBLE: "No motion obeys all limits and ends: the problem asks for too much here.",
    Status.NOT_CONVERGED: "The solver gave up before the optimum.",
}


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
    """Cost f."""
    status: Status
    """Status of the solution."""
    seconds: float
    """Computing time [s]."""
    iterations: int = 0
    """Iterations of the solver."""
    returned: str = ""
    """Return status of the solver."""

    @property
    def message(self) -> str:
        """Reason why there is no optimum; empty if there is one."""
        return "" if self.status.ok else _REASONS[self.status]


@dataclass(frozen=True, eq=False)
class Derivatives:
    """First and second derivatives of the program at a point, for (4) and the tangent QP."""

    g_v: csc_array
    """Derivative of the equations by v, shape (n_g, n_v)."""
    g_p: np.ndarray
    """Derivative of the equations by p, shape (n_g, n_p)."""
    h: np.ndarray
    """Inequalities h >= 0, shape (n_h,)."""
    h_v: csc_array
    """Derivative of the inequalities by v, shape (n_h, n_v)."""
    h_p: np.ndarray
    """Derivative of the inequalities by p, shape (n_h, n_p)."""
    f_v: np.ndarray
    """Gradient of the cost, shape (n_v,)."""
    l_vv: csc_array
    """Hessian of the Lagrangian, shape (n_v, n_v)."""
    l_vp: np.ndarray
    """Mixed second derivative of the Lagrangian, shape (n_v, n_p)."""
    l_p: np.ndarray
    """Derivative of the Lagrangian by p, which is the derivative of the optimal cost, shape
    (n_p,)."""
    l_pp: np.ndarray
    """Second derivative of the Lagrangian by p, shape (n_p, n_p)."""


class Program:
    """min f(v, p) subject to g(v, p) = 0 and h(v, p) >= 0, from an `OptimalControlProblem`.

    v holds the constants z, then x_0, u_0, x_1, u_1, …, x_N. g: the start, the intervals, the end.
    h: finite lower limits, finite upper limits, in the order of v, then `path` interval by
    interval. Initial states that p determines have no limits: these would be redundant or
    infeasible.

    Args:
        problem: The problem.

    Raises:
        ValueError: A formula has the wrong number of rows.
        SoftctlError: CasADi is not installed.

    Source: Marcucci et al., section 2 (multiple shooting, RK4) and (mpNLP).
    """

    def __init__(self, problem: OptimalControlProblem) -> None:
        self.problem, ca = problem, casadi()
        self._formulas = formulas(problem)
        N, dt = problem.intervals, problem.horizon / problem.intervals
        self.model = model_of(problem, self._formulas)
        """Content of the problem that libraries store."""
        self.size = self.model.size
        self.x_at, self.u_at, self.z_at = self.model.x_at, self.model.u_at, self.model.z_at
        self.lower, self.upper = self.model.lower, self.model.upper
        groups = [problem.design]
        groups += N * [[*problem.states, *problem.inputs]] + [problem.states]
        variables = [variable for part in groups for variable in part]
        self.middle = np.array([variable.guess for variable in variables])
        self._interval = self._integrator(ca, dt)
        v, p = ca.MX.sym("v", self.size), ca.MX.sym("p", len(problem.parameters))
        z, x = v[self.z_at.tolist()], [v[at.tolist()] for at in self.x_at]
        u = [v[at.tolist()] for at in self.u_at]
        X, U = ca.horzcat(*x[:-1]), ca.horzcat(*u)
        formula = self._formulas
        ends = self._interval.map(N)(X, U, z, p)
        g = [x[0] - formula["initial"](z, p), ca.vec(ca.horzcat(*x[1:]) - ends)]
        g.append(formula["terminal"](x[-1], z, p))
        f = ca.sum2(formula["cost"].map(N)(X, U, z, p)) / N
        if problem.final_cost is not None:
            f = f + formula["final_cost"](x[-1], z, p)
        self._v, self._p, self._f = v, p, f
        self._g = ca.vertcat(*g)
        self._path = ca.vec(formula["path"].map(N)(X, U, z, p) - self.model.path_margins)

    def _integrator(self, ca: Any, dt: float) -> Any:
        """Return the function (x, u, z, p) -> x after an interval, by RK4."""
        step = self._step(ca, dt / self.problem.steps)
        x, u, z, p = step.sx_in()
        end = x
        for _ in range(self.problem.steps):
            end = step(end, u, z, p)
        return ca.Function("interval", [x, u, z, p], [end])

    def _step(self, ca: Any, h: float) -> Any:
        """Return the function (x, u, z, p) -> x after a step of duration h."""
        slope = self._formulas["dynamics"]
        x, u, z, p = slope.sx_in()

        def rates(at: list[Any], fraction: float) -> list[Any]:
            return list(ca.vertsplit(slope(ca.vertcat(*at), u, z, p)))

        end = ca.vertcat(*rk4(rates, ca.vertsplit(x), h))
        return ca.Function("step", [x, u, z, p], [end])

    @cached_property
    def limited_below(self) -> np.ndarray:
        """Indices in v with a lower limit."""
        return np.flatnonzero(np.isfinite(self.lower))

    @cached_property
    def limited_above(self) -> np.ndarray:
        """Indices in v with an upper limit."""
        return np.flatnonzero(np.isfinite(self.upper))

    @cached_property
    def equations(self) -> int:
        """Number of equations n_g."""
        return int(self._g.shape[0])

    @cached_property
    def inequalities(self) -> int:
        """Number of inequalities n_h."""
        return len(self.limited_below) + len(self.limited_above) + int(self._path.shape[0])

    @cached_property
    def nlp(self) -> dict[str, Any]:
        """The program for CasADi's solvers."""
        ca = casadi()
        g = ca.vertcat(self._g, self._path)
        return {"x": self._v, "p": self._p, "f": self._f, "g": g}

    @cached_property
    def _solvers(self) -> tuple[Any, Any]:
        """IPOPT with a cold and with a warm start."""
        return ipopt(self.nlp, OPTIONS), ipopt(self.nlp, WARM)

    def solve(
        self,
        p: np.ndarray,
        start: np.ndarray | None = None,
        *,
        multipliers: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Optimum:
        """Solve for the optimum at parameters p.

        Args:
            p: Parameters, shape (n_p,).
            start: Initial unknowns, shape (n_v,); by default the guess. It may exceed limits.
            multipliers: `lam` and `mu` of a nearby optimum at `start`, for a warm start.

        Raises:
            ValueError: p, the start or the multipliers have the wrong shape, or p is not finite.
        """
        parameters = self._check_shape("parameters", p, len(self.problem.parameters))
        if not np.isfinite(parameters).all():
            raise ValueError(f"'{self.problem.name}': parameters must be finite. Got: {parameters}")
        first = (
            self.guess(parameters)
            if start is None
            else self._check_shape("start", start, self.size)
        )
        rows, path = self.equations, int(self._path.shape[0])
        warm = {} if multipliers is None else self._ipopt_multipliers(*multipliers)
        solver = self._solvers[bool(warm)]
        begin = time.perf_counter()
        with interrupted_after():
            result = solver(
                x0=first,
                p=parameters,
                lbx=self.lower,
                ubx=self.upper,
                lbg=np.zeros(rows + path),
                ubg=np.concatenate((np.zeros(rows), np.full(path, np.inf))),
                **warm,
            )
        seconds, stats = time.perf_counter() - begin, solver.stats()
        v, lam_g, lam_x = (np.array(result[k]).ravel() for k in ("x", "lam_g", "lam_x"))
        mu = (
            np.maximum(-lam_x[self.limited_below], 0.0),
            np.maximum(lam_x[self.limited_above], 0.0),
            np.maximum(-lam_g[rows:], 0.0),
        )
        f, returned = float(result["f"]), stats["return_status"]
        return Optimum(
            p=parameters,
            v=v,
            lam=-lam_g[:rows],
            mu=np.concatenate(mu),
            cost=f,
            status=_status(returned, v, lam_g, lam_x, np.array(f)),
            seconds=seconds,
            iterations=int(stats["iter_count"]),
            returned=returned,
        )

    def _check_shape(self, name: str, values: np.ndarray, size: int) -> np.ndarray:
        """Convert to floats after checking their number."""
        numbers = np.asarray(values, float)
        if numbers.shape != (size,):
            raise ValueError(
                f"'{self.problem.name}': {name} must have shape ({size},). Got: {numbers.shape}"
            )
        return numbers

    def _ipopt_multipliers(self, lam: np.ndarray, mu: np.ndarray) -> dict[str, np.ndarray]:
        """Convert multipliers to CasADi's: f + lam_g g + lam_x v, positive at upper limits."""
        lam = self._check_shape("lam", lam, self.equations)
        mu = self._check_shape("mu", mu, self.inequalities)
        low, high = self.limited_below, self.limited_above
        lam_x = np.zeros(self.size)
        lam_x[low] -= mu[: len(low)]
        lam_x[high] += mu[len(low) : len(low) + len(high)]
        return {"lam_g0": np.concatenate((-lam, -mu[len(low) + len(high) :])), "lam_x0": lam_x}

    def guess(self, p: np.ndarray) -> np.ndarray:
        """Return the initial guess of the unknowns, shape (n_v,)."""
        v = self.middle.copy()
        if self.problem.guess is not None:
            fraction = np.linspace(0.0, 1.0, self.problem.intervals + 1)
            states = np.asarray(self.problem.guess(p, fraction), float)
            if states.shape != self.x_at.shape:
                raise ValueError(
                    f"'{self.problem.name}': guess must give the states at the ends of all "
                    f"intervals, shape {self.x_at.shape}. Got: {states.shape}"
                )
            v[self.x_at] = states
        return v

    def motion(self, v: np.ndarray) -> Motion:
        """Return the trajectory of the unknowns v.

        Raises:
            ValueError: v has the wrong shape.
        """
        return self.model.motion(self._check_shape("unknowns", v, self.size))

    def simulate(self, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Integrate the inputs of v from the start at p by the steps of the plan.

        Returns the states, shape (N + 1, n_x). `Model.simulate` has error control instead.
        """
        motion = self.motion(v)
        x = np.empty((len(motion.u) + 1, len(self.problem.states)))
        x[0] = np.array(self._formulas["initial"](motion.z, p)).ravel()
        x[1:] = np.array(self._rollout(x[0], motion.u.T, motion.z, p)).T
        return x

    def error(self, v: np.ndarray, p: np.ndarray) -> float:
        """Return the problem's error at the end of `simulate`, or NaN if it declares none."""
        if self.problem.error is None:
            return float("nan")
        return float(self._formulas["error"](self.simulate(v, p)[-1], v[self.z_at], p))

    @cached_property
    def _rollout(self) -> Any:
        return self._interval.mapaccum(self.problem.intervals)

    def cost(self, v: np.ndarray, p: np.ndarray) -> float:
        """Return the cost f."""
        return float(self._cost(v, p))

    def defect(self, v: np.ndarray, p: np.ndarray) -> float:
        """Return the largest violation of the equations g."""
        return float(np.abs(self._defects(v, p).full()).max())

    @cached_property
    def _defects(self) -> Any:
        return casadi().Function("defects", [self._v, self._p], [self._g])

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
            ca.gradient(lagrangian, p),
            ca.hessian(lagrangian, p)[0],
        ]
        return ca.Function("derivatives", [v, p, lam, mu], out)

    @cached_property
    def _limits_v(self) -> csc_array:
        identity = eye_array(self.size, format="csr")
        return csc_array(vstack((identity[self.limited_below], -identity[self.limited_above])))

    def derivatives(self, optimum: Optimum) -> Derivatives:
        """Return all derivatives at an optimum."""
        v, low, high = optimum.v, self.limited_below, self.limited_above
        limits = len(low) + len(high)
        out = self._derivatives(v, optimum.p, optimum.lam, optimum.mu[limits:])
        g_v, path_v, l_vv = (csc_array(out[k].sparse()) for k in (0, 3, 6))
        g_p, path, path_p, f_v, l_vp, l_p, l_pp = (out[k].full() for k in (1, 2, 4, 5, 7, 8, 9))
        n_p = len(self.problem.parameters)
        return Derivatives(
            g_v=g_v,
            g_p=g_p,
            h=np.concatenate((v[low] - self.lower[low], self.upper[high] - v[high], path.ravel())),
            h_v=csc_array(vstack((self._limits_v, path_v), format="csc")),
            h_p=np.concatenate((np.zeros((limits, n_p)), path_p.reshape(-1, n_p))),
            f_v=f_v.ravel(),
            l_vv=l_vv,
            l_vp=l_vp,
            l_p=l_p.ravel(),
            l_pp=l_pp,
        )

    @property
    def digest(self) -> str:
        """Digest of the problem: its formulas, limits, sizes and times."""
        return self.model.digest


OPTIONS = {
    "print_time": False,
    "show_eval_warnings": False,
    "ipopt.print_level": 0,
    "ipopt.sb": "yes",
    "ipopt.tol": 1e-9,
    # Slack times multiplier: a limit is known to be active or not where either is above 1e-5.
    "ipopt.compl_inf_tol": 1e-12,
    "ipopt.max_iter": 500,
    # A quarter fewer iterations than the monotone rule, over random tasks of the elastic arm.
    "ipopt.mu_strategy": "adaptive",
    # Solved means to tol: sensitivities are computed there.
    "ipopt.acceptable_iter": 0,
    # Limits hold exactly, not to 1e-8 of their size.
    "ipopt.bound_relax_factor": 0.0,
}
"""Options of IPOPT for a cold start."""
WARM = {
    **OPTIONS,
    "ipopt.compl_inf_tol": 1e-9,
    "ipopt.warm_start_init_point": "yes",
    # By default the start is pushed from its limits by 1e-3, which loses the active set.
    "ipopt.warm_start_bound_push": 1e-9,
    "ipopt.warm_start_bound_frac": 1e-9,
    "ipopt.warm_start_slack_bound_push": 1e-9,
    "ipopt.warm_start_slack_bound_frac": 1e-9,
    "ipopt.warm_start_mult_bound_push": 1e-9,
    "ipopt.mu_strategy": "monotone",
    "ipopt.mu_init": 1e-7,
}
"""Options of IPOPT for a warm start from a nearby optimum with its multipliers."""


def ipopt(program: Any, options: dict[str, Any]) -> Any:
    """Return CasADi's IPOPT for a program, or for the path of a compiled one."""
    return casadi().nlpsol("solver", "ipopt", program, options)


def _status(returned: str, *numbers: np.ndarray) -> Status:
    """Convert IPOPT's status; an optimum must be finite."""
    if returned == "Solve_Succeeded" and all(np.isfinite(values).all() for values in numbers):
        return Status.SOLVED
    if returned == "Infeasible_Problem_Detected":
        return Status.INFEASIBLE
    return Status.NOT_CONVERGED
