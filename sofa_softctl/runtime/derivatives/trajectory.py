"""A whole motion under recorded inputs, with its derivatives forward and backward in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError, SimulationError
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep, StepState
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.step_derivative import Cotangent, StepDerivative, Tangent
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

SETTLING = 200
"""Most steps in which a robot must come to rest."""
LONGEST = 1e4
"""Of these steps, in time steps of the scene: inertia and damping no longer matter there."""
AT_REST = 1e-11
"""Largest motion in a step of a robot at rest, relative to its size [-]."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A simulated motion."""

    outputs: np.ndarray
    """At the start and after every step, shape (k + 1, n_y)."""
    settling: list[StepState]
    """Steps in which it came to rest before it began."""
    steps: list[StepState]
    """Its steps."""
    by_parameters: np.ndarray | None = None
    """Derivatives of the outputs, shape (k + 1, n_y, p); None: they were not asked for."""


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Derivatives of a number that depends on the outputs of a motion."""

    by_parameters: np.ndarray
    """Shape (p,)."""
    by_drive: np.ndarray
    """By what drives at the start and in every step, shape (k + 1, n_drives)."""


class TrajectoryModel:
    """Outputs of a robot over time, from what its cables and cavities impose.

    It starts where the scene starts, or where it rests under the first drive: there it comes in
    steps, ever longer ones, without momentum, that end when nothing moves. These are steps like
    the others, so that the derivatives of the start come from them too.

    Args:
        derivative: That of its steps.
        outputs: What is measured of it.
        settled: Whether it starts at rest under the first drive.
    """

    def __init__(
        self, derivative: StepDerivative, outputs: StepOutputs, *, settled: bool = True
    ) -> None:
        self.step: ImplicitStep = derivative.step
        self.derivative, self.outputs, self.settled = derivative, outputs, settled
        self.size = float(np.ptp(self.step.x0, axis=0).max())

    def run(self, drive: np.ndarray, *, sensitivities: bool = False) -> Trajectory:
        """The motion.

        Args:
            drive: What each cable and cavity imposes, see `ImplicitStep`, at the start, under
                which a settled robot rests, and at the end of each step, shape (k + 1, n_drives).
            sensitivities: Also compute derivatives by the parameters, forward in time.

        Raises:
            SimulationError: The robot does not come to rest, or its state became infinite.
        """
        with one_blas_thread():
            return self._run(drive, sensitivities)

    def _run(self, drive: np.ndarray, sensitivities: bool) -> Trajectory:
        step, count = self.step, len(self.derivative.parameters)
        x, v = step.x0, step.v0
        tangent = Tangent(*np.zeros((2, count, step.size, 3))) if sensitivities else None
        settling: list[StepState] = []
        if self.settled:
            v = np.zeros_like(v)
            x, tangent, settling = self._settle(x, tangent, drive[0])
        outputs = [self.outputs.at(x)]
        slopes = [self.outputs.forward(tangent.x)] if tangent is not None else []
        steps: list[StepState] = []
        for number, u in enumerate(drive[1:], start=1):
            taken, tangent = self._take(x, v, u, step.dt, tangent, f"step {number}")
            steps.append(taken)
            x, v = x + step.dt * taken.w, taken.w
            outputs.append(self.outputs.at(x))
            if tangent is not None:
                slopes.append(self.outputs.forward(tangent.x))
        found = np.array(slopes) if sensitivities else None
        return Trajectory(np.array(outputs), settling, steps, found)

    def _settle(
        self, x: np.ndarray, tangent: Tangent | None, drive: np.ndarray
    ) -> tuple[np.ndarray, Tangent | None, list[StepState]]:
        settling: list[StepState] = []
        still = np.zeros_like(x)
        h = self.step.dt
        for number in range(SETTLING):
            taken, tangent = self._take(
                x, still, drive, h, tangent, f"step {number + 1} towards rest"
            )
            settling.append(taken)
            x = x + h * taken.w
            if tangent is not None:
                tangent = Tangent(tangent.x, np.zeros_like(tangent.v))
            if np.abs(h * taken.w).max() < AT_REST * self.size:
                return x, tangent, settling
            h = min(2.0 * h, LONGEST * self.step.dt)
        moves = np.abs(h * settling[-1].w).max() / self.size
        raise SimulationError(
            f"The robot does not come to rest under the first inputs: after {SETTLING} steps it "
            f"still moves by {moves:.1e} of its size in each. It buckles, or is too soft for its "
            "weight."
        )

    def _take(
        self,
        x: np.ndarray,
        v: np.ndarray,
        drive: np.ndarray,
        h: float,
        tangent: Tangent | None,
        where: str,
    ) -> tuple[StepState, Tangent | None]:
        try:
            self.step.at(x, h, drive)
            taken = self.step.advance(v, drive)
        except (DivergedError, SceneError, np.linalg.LinAlgError) as error:
            raise SimulationError(f"The simulation failed in {where}: {error}") from error
        if tangent is not None:
            self.derivative.at(taken, again=False)
            tangent = self.derivative.forward(tangent)
        return taken, tangent

    def pull_back(self, motion: Trajectory, by_outputs: np.ndarray) -> MotionGradient:
        """Derivatives of a number, backward in time: one solve a step.

        Args:
            motion: From `run`, with the present parameters.
            by_outputs: Derivative of the number by the outputs, shape (k + 1, n_y).
        """
        with one_blas_thread():
            return self._pull_back(motion, by_outputs)

    def _pull_back(self, motion: Trajectory, by_outputs: np.ndarray) -> MotionGradient:
        derivative, sums = self.derivative, self.derivative.sums()
        zero = np.zeros_like(self.step.x0)
        cotangent = Cotangent(zero, zero)
        by_drive = np.zeros((len(motion.steps) + 1, len(self.step.drives)))
        for number in range(len(motion.steps) - 1, -1, -1):
            taken = motion.steps[number]
            self.outputs.at(taken.x + taken.h * taken.w)
            own = self.outputs.backward(by_outputs[number + 1])
            derivative.at(taken)
            cotangent, found = derivative.backward(Cotangent(cotangent.x + own, cotangent.v), sums)
            by_drive[number + 1] = found
        if motion.settling:
            last = motion.settling[-1]
            self.outputs.at(last.x + last.h * last.w)
            cotangent = Cotangent(cotangent.x + self.outputs.backward(by_outputs[0]), zero)
        for taken in reversed(motion.settling):
            derivative.at(taken)
            cotangent, found = derivative.backward(Cotangent(cotangent.x, zero), sums)
            by_drive[0] += found
        return MotionGradient(derivative.collect(sums), by_drive)
