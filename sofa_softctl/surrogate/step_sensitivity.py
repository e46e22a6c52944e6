"""Motion of the full model under tensions, with its exact derivatives by them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.base.blas_threads import one_blas_thread
from sofa_softctl.scene.step_model import StepDerivative, StepModel, Tangent


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
