"""Correction of a plan's tensions by Gauss-Newton steps on the full model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import BackendError, DivergedError, SceneError
from sofa_softctl.qp import QP, solve_checked
from sofa_softctl.surrogate.planning.costs import Following
from sofa_softctl.surrogate.planning.probes import Probe
from sofa_softctl.surrogate.scene_plan import ScenePlan
from sofa_softctl.surrogate.step_sensitivity import StepSensitivity

SAME = 1e-3
"""Largest distance between a replay and the steps that are differentiated, as a share of the
replay's tolerance."""
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
        outputs, by_outputs = self._differentiated(found)
        missing, slope = _towards(found, outputs, by_outputs)
        return _bounded_step(found, missing, slope)

    def _differentiated(
        self, found: ScenePlan, *, derivatives: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Watched outputs, (K, m), and their derivatives by u, (K, m, K - 1, d)."""
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
                f"the scene without its plan takes other steps, {apart:.2g} apart: other "
                "controllers or cables act in one of them"
            )
        return points, force * slope


def _towards(
    found: ScenePlan, outputs: np.ndarray, by_u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What points lack of their planned places, (r,), and how they move with u, (r, n)."""
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
