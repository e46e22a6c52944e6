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

from sofa_softctl.base.blas_threads import one_blas_thread
from sofa_softctl.errors import BackendError, DivergedError, SceneError
from sofa_softctl.qp import QP, solve_checked
from sofa_softctl.scene.step_model import StepDerivative, StepModel, Tangent
from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan

REPLAY_DISTANCE_RATIO_MAX = 0.1
"""Largest distance between a replay and the steps that are differentiated, as a share of the
replay's tolerance: derivatives need not be better, as errors are those of the replay."""
CHANGE_WEIGHT = 1e-4
"""Weight of changes of tensions, over that of the strongest one's effect on the path [-]."""
SOLVERS = ("daqp", "proxqp")
"""Dense QP solvers, in the order of their calls."""
_TOLERANCE = 1e-6  # largest accepted KKT residual of a QP [-]


class NoDerivative(SceneError):
    """The steps of a scene, or of a plan's replay, cannot be differentiated; with the reason."""


class StepCorrection:
    """Gauss-Newton steps towards a plan's path, by the derivatives of the scene's own steps.

    Args:
        scene_plan: A plan with its replay.

    Raises:
        NoDerivative: those of the scene are not known, or its steps amplify every error.
    """

    def __init__(self, scene_plan: ScenePlan) -> None:
        robot = scene_plan.robot
        if scene_plan.flutter > 1.0 and not robot.line_stiffness:
            raise NoDerivative("without the stiffness of the lines its steps amplify every error")
        paths = [cable.getPathName() for cable in robot.map.map.cables]
        try:
            self.sensitivity = StepSensitivity(
                scene_plan.scene,
                paths,
                robot.map.points,
                stiff=robot.line_stiffness,
                parameters=robot.map.parameters,
            )
        except (SceneError, BackendError) as error:
            raise NoDerivative(str(error).rstrip(".")) from error
        self._differentiated(scene_plan, derivatives=False)

    def step(self, scene_plan: ScenePlan) -> np.ndarray:
        """Change of the tensions over the force within their limits [-], shape (K - 1, d).

        Minimises the squared distances of all points that are judged from where they are planned,
        linearised at the replay, and a small weight on the change.

        Raises:
            NoDerivative: the replay is not that of the steps that are differentiated, or has no
                point at some instant.
        """
        assert scene_plan.judgement is not None
        by_u = self._differentiated(scene_plan)
        missing, slope = _towards(scene_plan, scene_plan.judgement.replay.points, by_u)
        return _bounded_step(scene_plan, missing, slope)

    def _differentiated(self, scene_plan: ScenePlan, *, derivatives: bool = True) -> np.ndarray:
        """Derivatives of the watched outputs by u, shape (K, m, K - 1, d)."""
        assert scene_plan.judgement is not None
        force = scene_plan.robot.dynamics.force
        try:
            points, slope = self.sensitivity.run(
                force * scene_plan.plan.u, delay=scene_plan.delay, derivatives=derivatives
            )
        except (DivergedError, SceneError) as error:
            raise NoDerivative(str(error).rstrip(".")) from error
        distance = float(np.abs(points - scene_plan.judgement.replay.points).max())
        if not distance <= REPLAY_DISTANCE_RATIO_MAX * scene_plan.robot.replay_tolerance:
            raise NoDerivative(
                f"the replay is {distance:.2g} apart from the steps whose derivatives are known: "
                "other controllers or cables act beside a plan, or another simulator replays it"
            )
        return force * slope


def _towards(
    scene_plan: ScenePlan, outputs: np.ndarray, by_u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What points lack of their planned places, (r,), and how they move with u, (r, n).

    Args:
        scene_plan: The plan.
        outputs: Watched outputs in its replay, shape (K, m).
        by_u: Their derivatives, shape (K, m, K - 1, d).
    """
    planned, first = scene_plan.outputs, scene_plan.robot.dynamics.layout.size - outputs.shape[1]
    missing, slopes = [], []
    for probe in _probes(scene_plan):
        rows = list(probe.rows)
        watched = [row - first for row in rows]
        position, by_outputs = probe.locate(outputs[:, watched])
        goal = probe.locate(planned[:, rows])[0]
        missing.append((goal - position)[1:].ravel())
        slope = np.einsum("kim,kmjd->kijd", by_outputs, by_u[:, watched])
        slopes.append(slope[1:].reshape(missing[-1].size, -1))
    if not all(np.isfinite(values).all() for values in missing):
        raise NoDerivative("the task's point is nowhere at some instants of the replay")
    return np.concatenate(missing), np.concatenate(slopes)


def _probes(scene_plan: ScenePlan) -> list[Probe]:
    """Those whose points are judged, each once."""
    followed = (term.probe for term in scene_plan.task.outputs if isinstance(term, Following))
    return list({probe: None for probe in (scene_plan.task.probe, *followed)})


def _bounded_step(scene_plan: ScenePlan, missing: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The least-squares step within the limits of tensions and rates, shape (K - 1, d)."""
    problem, u = scene_plan.problem, scene_plan.plan.u
    steps, d = u.shape
    lowest, highest = problem.input_bounds
    assert problem.u_before is not None
    change = np.diff(u, axis=0, prepend=problem.u_before[None])
    change_max = np.broadcast_to(np.asarray(problem.limits.rate) * problem.dynamics.dt, (steps, d))
    rows = sparse.kron(sparse.eye_array(steps) - sparse.eye_array(steps, k=-1), sparse.eye_array(d))
    H, g = slope.T @ slope, -slope.T @ missing
    scale = float(H.diagonal().max())
    if not scale > 0.0:
        raise NoDerivative("the lines do not move the task's point")
    qp = QP(
        H=H / scale + CHANGE_WEIGHT * np.eye(len(g)),
        g=g / scale,
        A=rows.toarray(),
        lower=np.minimum(np.concatenate((lowest - u, -change_max - change)), 0.0).ravel(),
        upper=np.maximum(np.concatenate((highest - u, change_max - change)), 0.0).ravel(),
    )
    solution = solve_checked(qp, solvers=SOLVERS, tolerance=_TOLERANCE, feasible=True)
    if solution.result is None:
        raise NoDerivative(f"its QP was not solved: {' '.join(solution.notes)}".rstrip("."))
    return problem.within_limits(u + solution.result.x.reshape(u.shape)) - u


def with_step(scene_plan: ScenePlan, step: np.ndarray) -> ScenePlan:
    """The plan with other tensions, its path as it was; without a replay."""
    return replace(
        scene_plan, plan=replace(scene_plan.plan, u=scene_plan.plan.u + step), judgement=None
    )


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
            step_result = step.advance(v, pull)
            x, v = x + step.dt * step_result.w, step_result.w
            points.append(self.weights @ x)
            if not derivatives:
                continue
            before = Tangent(*(np.concatenate((point, new)) for point in tangent))
            drive = np.zeros((len(before.x), d))
            drive[-d:] = np.eye(d)
            self.derivative.at(step_result, again=False)
            tangent = self.derivative.forward(before, drive)
            by_nodes = tangent.x.transpose(1, 0, 2).reshape(step.size, -1)
            derivatives_of_points = (self.weights @ by_nodes).reshape(self.weights.shape[0], -1, 3)
            G[k + 1, :, : d * (k + 1)] = derivatives_of_points.transpose(0, 2, 1).reshape(
                points[0].size, -1
            )
        watched = np.array([point.ravel() for point in points])
        return watched, G.reshape(*G.shape[:2], -1, d)
