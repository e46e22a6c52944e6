"""Correction of a plan's tensions by Gauss-Newton steps on the full model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.time_limit import check_time
from sofa_softctl.base.versions import one_blas_thread
from sofa_softctl.errors import BackendError, DivergedError, SceneError
from sofa_softctl.qp import QP, solve_checked
from sofa_softctl.scene.copies.step_model import StepDerivative, StepModel, Tangent
from sofa_softctl.surrogate.costs.costs import Following, Probe
from sofa_softctl.surrogate.scene.scene_plan import ScenePlan

REPLAY_DISTANCE_RATIO_MAX = 0.1
"""Largest distance between a replay and the differentiated steps, over the replay's tolerance [-];
derivatives need not be better, since errors come from the replay."""
CHANGE_WEIGHT = 1e-4
"""Weight of changes of tensions, over the largest weight of their effect on the path [-]."""
SOLVERS = ("daqp", "proxqp")
"""Dense QP solvers, in the order of their calls."""


class NoDerivative(SceneError):
    """Reason why the steps of a scene, or of a plan's replay, cannot be differentiated."""


class StepCorrection:
    """Gauss-Newton steps towards a plan's path, by the derivatives of the scene's steps.

    Args:
        scene_plan: Plan with its replay.

    Raises:
        NoDerivative: Derivatives of the scene are unknown, or its steps amplify every error.
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
        self._differentiate(scene_plan, derivatives=False)

    def step(self, scene_plan: ScenePlan) -> np.ndarray:
        """Return the change of u within its limits [-], shape (K - 1, d).

        It minimises the squared distances of all judged points from their planned positions,
        linearised at the replay, with a small weight on the change.

        Raises:
            NoDerivative: The replay differs from the differentiated steps, or a point is undefined
                at some instant.
        """
        assert scene_plan.judgement is not None
        by_u = self._differentiate(scene_plan)
        missing, slope = _towards(scene_plan, scene_plan.judgement.replay.points, by_u)
        return _bounded_step(scene_plan, missing, slope)

    def _differentiate(self, scene_plan: ScenePlan, *, derivatives: bool = True) -> np.ndarray:
        """Return the derivatives of the watched outputs by u, shape (K, m, K - 1, d)."""
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
    """Return the offset of points to their planned positions, (r,), and their derivatives, (r, n).

    Args:
        scene_plan: Plan with its replay.
        outputs: Watched outputs in the replay, shape (K, m).
        by_u: Derivatives of the outputs by u, shape (K, m, K - 1, d).
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
    """Return the probes whose points are judged, without duplicates."""
    followed = (term.probe for term in scene_plan.task.outputs if isinstance(term, Following))
    return list({probe: None for probe in (scene_plan.task.probe, *followed)})


def _bounded_step(scene_plan: ScenePlan, missing: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Solve for the least-squares step within the limits of tensions and rates, (K - 1, d)."""
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
    solution = solve_checked(qp, solvers=SOLVERS, tolerance=1e-6, feasible=True)
    if solution.result is None:
        raise NoDerivative(f"its QP was not solved: {' '.join(solution.notes)}".rstrip("."))
    return problem.within_limits(u + solution.result.x.reshape(u.shape)) - u


def with_step(scene_plan: ScenePlan, step: np.ndarray) -> ScenePlan:
    """Return the plan with changed tensions and the same path, without a replay."""
    return replace(
        scene_plan, plan=replace(scene_plan.plan, u=scene_plan.plan.u + step), judgement=None
    )


class StepSensitivity:
    """Watched points of a scene's robot at each step, with derivatives by all earlier tensions.

    The scene is used without a plan; its steps equal the steps of a replay.

    Args:
        scene: Scene file.
        lines: Paths of the cables.
        points: Paths of the nodes whose points are watched.
        stiff: Add the stiffness of the cables to the steps, see `LineStiffness`.
        parameters: Parameters of createScene.

    Raises:
        SceneError: The scene has a component without known derivatives.
        BackendError: This process runs SOFA, which has no derivatives.
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
        """Simulate tensions by the steps of a replay.

        Args:
            tension: Tensions of each step [force], shape (K - 1, d).
            delay: Number of steps with slack cables before.
            derivatives: Compute derivatives.

        Returns:
            Watched points at the K instants [length], shape (K, 3 P), and their derivatives by the
            tensions [length/force], shape (K, 3 P, K - 1, d), empty if not computed.

        Raises:
            DivergedError: The state is not finite any more.
            TimeLimitError: The time limit was reached, with derivatives.
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
            step.evaluate(x, step.dt, slack)
            v = step.advance(v, slack).w
            x = x + step.dt * v
        points = [self.weights @ x]
        columns = steps * d if derivatives else 0
        G = np.zeros((steps + 1, points[0].size, columns))
        tangent = Tangent(*np.zeros((2, 0, step.size, 3)))
        new = np.zeros((d, step.size, 3))
        for k, pull in enumerate(tension):
            if derivatives:
                check_time()
            step.evaluate(x, step.dt, pull)
            step_result = step.advance(v, pull)
            x, v = x + step.dt * step_result.w, step_result.w
            points.append(self.weights @ x)
            if not derivatives:
                continue
            before = Tangent(*(np.concatenate((point, new)) for point in tangent))
            drive = np.zeros((len(before.x), d))
            drive[-d:] = np.eye(d)
            self.derivative.set_step(step_result, again=False)
            tangent = self.derivative.forward(before, drive)
            by_nodes = tangent.x.transpose(1, 0, 2).reshape(step.size, -1)
            derivatives_of_points = (self.weights @ by_nodes).reshape(self.weights.shape[0], -1, 3)
            G[k + 1, :, : d * (k + 1)] = derivatives_of_points.transpose(0, 2, 1).reshape(
                points[0].size, -1
            )
        watched = np.array([point.ravel() for point in points])
        return watched, G.reshape(*G.shape[:2], -1, d)
