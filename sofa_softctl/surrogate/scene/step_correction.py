"""Correction of a plan's tensions by Gauss-Newton steps on the full model.

Motion of the full model under tensions, with its exact derivatives by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import BackendError, DivergedError, SceneError
from sofa_softctl.qp import QP, solve_checked
from sofa_softctl.scene.copies.step_model import StepDerivative, StepModel, Tangent
from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan

SAME = 0.1
"""Largest distance between a replay and the steps that are differentiated, as a share of the
replay's tolerance: derivatives need not be better, as errors are those of the replay."""
DAMPING = 1e-4
"""Weight of changes of tensions, over that of the strongest one's effect on the path [-]."""
SOLVERS = ("daqp", "proxqp")
"""Dense QP solvers, in the order of their calls."""
_TOLERANCE = 1e-6  # largest accepted KKT residual of a QP [-]


class NoDerivative(SceneError):
    """The steps of a scene, or of a plan's replay, cannot be differentiated; with the reason."""


class StepCorrection:
    """Gauss-Newton steps towards a plan's path, by the derivatives of the scene's own steps.

    Args:
        found: A plan with its replay.

    Raises:
        NoDerivative: those of the scene are not known, or its steps amplify every error.
    """

    def __init__(self, found: ScenePlan) -> None:
        robot = found.robot
        if found.flutter > 1.0 and not robot.line_stiffness:
            raise NoDerivative("without the stiffness of the lines its steps amplify every error")
        paths = [cable.getPathName() for cable in robot.map.map.cables]
        try:
            self.sensitivity = StepSensitivity(
                found.scene,
                paths,
                robot.map.points,
                stiff=robot.line_stiffness,
                parameters=robot.map.parameters,
            )
        except (SceneError, BackendError) as error:
            raise NoDerivative(str(error).rstrip(".")) from error
        self._differentiated(found, derivatives=False)

    def step(self, found: ScenePlan) -> np.ndarray:
        """Change of the tensions over the force within their limits [-], shape (K - 1, d).

        Minimises the squared distances of all points that are judged from where they are planned,
        linearised at the replay, and a small weight on the change.

        Raises:
            NoDerivative: the replay is not that of the steps that are differentiated, or has no
                point at some instant.
        """
        assert found.judgement is not None
        by_u = self._differentiated(found)
        missing, slope = _towards(found, found.judgement.replay.points, by_u)
        return _bounded_step(found, missing, slope)

    def _differentiated(self, found: ScenePlan, *, derivatives: bool = True) -> np.ndarray:
        """Derivatives of the watched outputs by u, shape (K, m, K - 1, d)."""
        assert found.judgement is not None
        force = found.robot.dynamics.force
        try:
            points, slope = self.sensitivity.run(
                force * found.plan.u, delay=found.delay, derivatives=derivatives
            )
        except (DivergedError, SceneError) as error:
            raise NoDerivative(str(error).rstrip(".")) from error
        apart = float(np.abs(points - found.judgement.replay.points).max())
        if not apart <= SAME * found.robot.replay_tolerance:
            raise NoDerivative(
                f"the replay is {apart:.2g} apart from the steps whose derivatives are known: "
                "other controllers or cables act beside a plan, or another simulator replays it"
            )
        return force * slope


def _towards(
    found: ScenePlan, outputs: np.ndarray, by_u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What points lack of their planned places, (r,), and how they move with u, (r, n).

    Args:
        found: The plan.
        outputs: Watched outputs in its replay, shape (K, m).
        by_u: Their derivatives, shape (K, m, K - 1, d).
    """
    planned, first = found.outputs, found.robot.dynamics.layout.size - outputs.shape[1]
    missing, slopes = [], []
    for probe in _probes(found):
        rows = list(probe.rows)
        watched = [row - first for row in rows]
        place, by_outputs = probe.locate(outputs[:, watched])
        goal = probe.locate(planned[:, rows])[0]
        missing.append((goal - place)[1:].ravel())
        slope = np.einsum("kim,kmjd->kijd", by_outputs, by_u[:, watched])
        slopes.append(slope[1:].reshape(missing[-1].size, -1))
    if not all(np.isfinite(each).all() for each in missing):
        raise NoDerivative("the task's point is nowhere at some instants of the replay")
    return np.concatenate(missing), np.concatenate(slopes)


def _probes(found: ScenePlan) -> list[Probe]:
    """Those whose points are judged, each once."""
    followed = (term.probe for term in found.task.outputs if isinstance(term, Following))
    return list({probe: None for probe in (found.task.probe, *followed)})


def _bounded_step(found: ScenePlan, missing: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The least-squares step within the limits of tensions and rates, shape (K - 1, d)."""
    problem, u = found.problem, found.plan.u
    steps, d = u.shape
    lowest, highest = problem.input_bounds
    assert problem.u_before is not None
    change = np.diff(u, axis=0, prepend=problem.u_before[None])
    most = np.broadcast_to(np.asarray(problem.limits.rate) * problem.dynamics.dt, (steps, d))
    rows = sparse.kron(sparse.eye_array(steps) - sparse.eye_array(steps, k=-1), sparse.eye_array(d))
    H, g = slope.T @ slope, -slope.T @ missing
    scale = float(H.diagonal().max())
    if not scale > 0.0:
        raise NoDerivative("the lines do not move the task's point")
    qp = QP(
        H=H / scale + DAMPING * np.eye(len(g)),
        g=g / scale,
        A=rows.toarray(),
        lower=np.minimum(np.concatenate((lowest - u, -most - change)), 0.0).ravel(),
        upper=np.maximum(np.concatenate((highest - u, most - change)), 0.0).ravel(),
    )
    answer = solve_checked(qp, solvers=SOLVERS, tolerance=_TOLERANCE, feasible=True)
    if answer.result is None:
        raise NoDerivative(f"its QP was not solved: {' '.join(answer.notes)}".rstrip("."))
    return problem.within_limits(u + answer.result.x.reshape(u.shape)) - u


def with_step(found: ScenePlan, step: np.ndarray) -> ScenePlan:
    """The plan with other tensions, its path as it was; without a replay."""
    return replace(found, plan=replace(found.plan, u=found.plan.u + step), judgement=None)


class StepSensitivity:
    """Watched points of a scene's robot at each step, and how they depend on all tensions before.

    The scene is taken without a plan; its steps are those of a replay: with the stiffness of the
    lines if `stiff`.

    Args:
        scene: Scene file.
        lines: Paths of the cables.
        points: Paths of the nodes whose points are watched.
        stiff: Whether steps have the stiffness of the lines, see `LineStiffness`.
        parameters: Of createScene.

    Raises:
        SceneError: the scene has something whose derivative is not known.
        BackendError: this process runs SOFA, which gives no derivatives.
    """

    def __init__(
        self,
        scene: str | Path,
        lines: Sequence[str],
        points: Sequence[str],
        *,
        stiff: bool,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        driven = [(path, False) for path in lines]
        model = StepModel(scene, parameters=parameters, driven=driven, stiff=stiff)
        self.step = model.step
        self.derivative = StepDerivative(self.step, [])
        empty = sparse.csr_array((0, self.step.size))
        self.weights = sparse.csr_array(
            sparse.vstack([empty, *(model.points(path) for path in points)])
        )
        """Weights of the nodes in each watched point, shape (P, n)."""

    def run(
        self, tension: np.ndarray, *, delay: int = 0, derivatives: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The motion, by steps as a replay takes them.

        Args:
            tension: Tensions of each step [force], shape (K - 1, d).
            delay: Steps with slack lines before.
            derivatives: Whether derivatives are computed.

        Returns:
            Watched points at the K instants [length], shape (K, 3 P), and their derivatives by the
            tensions [length/force], shape (K, 3 P, K - 1, d), empty if not computed.

        Raises:
            DivergedError: the state is no longer finite.
        """
        with one_blas_thread():
            return self._run(tension, delay, derivatives)

    def _run(
        self, tension: np.ndarray, delay: int, derivatives: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        step, (steps, d) = self.step, tension.shape
        x, v = step.x0, step.v0
        slack = np.zeros(d)
        for _ in range(delay):
            step.at(x, step.dt, slack)
            v = step.advance(v, slack).w
            x = x + step.dt * v
        points = [self.weights @ x]
        columns = steps * d if derivatives else 0
        G = np.zeros((steps + 1, points[0].size, columns))
        tangent = Tangent(*np.zeros((2, 0, step.size, 3)))
        new = np.zeros((d, step.size, 3))
        for k, pull in enumerate(tension):
            step.at(x, step.dt, pull)
            taken = step.advance(v, pull)
            x, v = x + step.dt * taken.w, taken.w
            points.append(self.weights @ x)
            if not derivatives:
                continue
            before = Tangent(*(np.concatenate((one, new)) for one in tangent))
            drive = np.zeros((len(before.x), d))
            drive[-d:] = np.eye(d)
            self.derivative.at(taken, again=False)
            tangent = self.derivative.forward(before, drive)
            by_nodes = tangent.x.transpose(1, 0, 2).reshape(step.size, -1)
            moved = (self.weights @ by_nodes).reshape(self.weights.shape[0], -1, 3)
            G[k + 1, :, : d * (k + 1)] = moved.transpose(0, 2, 1).reshape(points[0].size, -1)
        found = np.array([one.ravel() for one in points])
        return found, G.reshape(*G.shape[:2], -1, d)
