"""Trajectories under recorded inputs, with derivatives forward and backward in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError, SimulationError
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep, StepState
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.step_derivative import Cotangent, StepDerivative, Tangent
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread

SETTLING_STEPS_MAX = 200
"""Number of steps in which a robot must come to rest."""
STEP_RATIO_MAX = 1e4
"""Longest of these steps over the scene's time step [-]: inertia and damping are negligible."""
REST_TOLERANCE = 1e-11
"""Largest motion in a step of a robot at rest, relative to its size [-]."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Simulated trajectory."""

    outputs: np.ndarray
    """Outputs at the start and after every step, shape (k + 1, n_y)."""
    settling: list[StepState]
    """Steps in which it came to rest before the start."""
    steps: list[StepState]
    """Steps of the trajectory."""
    by_parameters: np.ndarray | None = None
    """Derivatives of the outputs, shape (k + 1, n_y, p), or None if not requested."""


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Derivatives of a number that depends on the outputs of a trajectory."""

    by_parameters: np.ndarray
    """Derivatives by the parameters, shape (p,)."""
    by_drive: np.ndarray
    """Derivatives by the drives at the start and in every step, shape (k + 1, n_drives)."""


class TrajectoryModel:
    """Outputs of a robot over time, under drives of its cables and cavities.

    It starts in the scene's start, or at rest under the first drive, which it reaches in steps of
    growing length without momentum that end when nothing moves. They are steps like the others, so
    they also determine the derivatives of the start.

    Args:
        derivative: Derivative of its steps.
        outputs: Outputs of the robot.
        settled: Start at rest under the first drive.
    """

    def __init__(
        self, derivative: StepDerivative, outputs: StepOutputs, *, settled: bool = True
    ) -> None:
        self.step: ImplicitStep = derivative.step
        self.derivative, self.outputs, self.settled = derivative, outputs, settled
        self.size = float(np.ptp(self.step.x0, axis=0).max())

    def run(self, drive: np.ndarray, *, sensitivities: bool = False) -> Trajectory:
        """Simulate the trajectory.

        Args:
            drive: Drive of each cable and cavity, see `ImplicitStep`, at the start, where a
                settled robot is at rest, and at the end of each step, shape (k + 1, n_drives).
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
        outputs = [self.outputs.evaluate(x)]
        slopes = [self.outputs.forward(tangent.x)] if tangent is not None else []
        steps: list[StepState] = []
        for number, u in enumerate(drive[1:], start=1):
            taken, tangent = self._make_step(x, v, u, step.dt, tangent, f"step {number}")
            steps.append(taken)
            x, v = x + step.dt * taken.w, taken.w
            outputs.append(self.outputs.evaluate(x))
            if tangent is not None:
                slopes.append(self.outputs.forward(tangent.x))
        by_parameters = np.array(slopes) if sensitivities else None
        return Trajectory(np.array(outputs), settling, steps, by_parameters)

    def _settle(
        self, x: np.ndarray, tangent: Tangent | None, drive: np.ndarray
    ) -> tuple[np.ndarray, Tangent | None, list[StepState]]:
        settling: list[StepState] = []
        still = np.zeros_like(x)
        h = self.step.dt
        for number in range(SETTLING_STEPS_MAX):
            taken, tangent = self._make_step(
                x, still, drive, h, tangent, f"step {number + 1} towards rest"
            )
            settling.append(taken)
            x = x + h * taken.w
            if tangent is not None:
                tangent = Tangent(tangent.x, np.zeros_like(tangent.v))
            if np.abs(h * taken.w).max() < REST_TOLERANCE * self.size:
                return x, tangent, settling
            h = min(2.0 * h, STEP_RATIO_MAX * self.step.dt)
        moves = np.abs(h * settling[-1].w).max() / self.size
        raise SimulationError(
            f"The robot does not come to rest under the first inputs: after {SETTLING_STEPS_MAX} "
            f"steps it still moves by {moves:.1e} of its size in each. It buckles, or is too soft "
            "for its weight."
        )

    def _make_step(
        self,
        x: np.ndarray,
        v: np.ndarray,
        drive: np.ndarray,
        h: float,
        tangent: Tangent | None,
        label: str,
    ) -> tuple[StepState, Tangent | None]:
        try:
            self.step.evaluate(x, h, drive)
            taken = self.step.advance(v, drive)
        except (DivergedError, SceneError, np.linalg.LinAlgError) as error:
            raise SimulationError(f"The simulation failed in {label}: {error}") from error
        if tangent is not None:
            self.derivative.set_step(taken, again=False)
            tangent = self.derivative.forward(tangent)
        return taken, tangent

    def pull_back(self, motion: Trajectory, by_outputs: np.ndarray) -> MotionGradient:
        """Return derivatives of a number, backward in time, with one solve for each step.

        Args:
            motion: Result of `run`, with the present parameters.
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
            self.outputs.evaluate(taken.x + taken.h * taken.w)
            by_x = cotangent.x + self.outputs.backward(by_outputs[number + 1])
            derivative.set_step(taken)
            cotangent, by_step = derivative.backward(Cotangent(by_x, cotangent.v), sums)
            by_drive[number + 1] = by_step
        if motion.settling:
            last = motion.settling[-1]
            self.outputs.evaluate(last.x + last.h * last.w)
            cotangent = Cotangent(cotangent.x + self.outputs.backward(by_outputs[0]), zero)
        for taken in reversed(motion.settling):
            derivative.set_step(taken)
            cotangent, by_step = derivative.backward(Cotangent(cotangent.x, zero), sums)
            by_drive[0] += by_step
        return MotionGradient(derivative.collect(sums), by_drive)
