"""Experiment of a FEM robot: a recorded run, predicted by its scene, with derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.data.interpolation import linear
from sofa_softctl.identification.data.sampling import check_steps
from sofa_softctl.identification.effects.selection import signal_effects
from sofa_softctl.identification.fem.model import FemModel
from sofa_softctl.identification.fem.parameter import FemParameter, FrameParameter
from sofa_softctl.identification.fem.registration import Pose, Registration
from sofa_softctl.identification.fem.sensing import sensing_of
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.experiment import Experiment, PulledBack, Refinement
from sofa_softctl.identification.model.parameter import starts
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.scene.copies.split_mesh import check_split
from sofa_softctl.scene.copies.step_model import Trajectory, TrajectoryModel
from sofa_softctl.units import symbol

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect

IDENTITY_REGISTRATION = Registration(np.eye(3), np.zeros(3), np.zeros(0))
"""Frame of the scene."""


class FemExperiment(Experiment):
    """A recorded run of a FEM robot, and the scene that predicts it.

    Args:
        problem: Parameters, drives and sensors.
        recording: The run; its columns are the problem's inputs and channels.
        frame: Frame of the measured markers, by default the frame of the scene.

    Raises:
        IdentificationError: The recording does not fit the problem.
        SceneError: The scene lacks a component, or has one without derivatives.
    """

    def __init__(
        self, problem: FemModel, recording: Recording, frame: Registration | None = None
    ) -> None:
        self.problem, self.recording = problem, recording
        self.frame = IDENTITY_REGISTRATION if frame is None else frame
        self._check()
        self.derivative = problem.derivative
        _ = problem.notes  # raises IdentificationError for markers off the robot
        sensing = sensing_of(problem.model, problem.sensors)
        self._places, self._xyz = sensing.places, sensing.xyz
        kinds = [isinstance(parameter, FemParameter) for parameter in problem.parameters]
        self._physical = np.flatnonzero(kinds)
        self._framing = np.flatnonzero(np.logical_not(kinds))
        self.model = TrajectoryModel(self.derivative, sensing.outputs, settled=problem.settled)
        dt = self.derivative.step.dt * problem.second
        self.dt = dt
        """Length of a step [s]."""
        check_steps(recording.name, recording.time, dt)
        elapsed = recording.time - recording.time[0]
        self.steps = max(1, math.ceil(elapsed[-1] / dt - 1e-6))
        ends = dt * np.arange(self.steps + 1)
        self._to_samples = linear(ends, elapsed)[0]  # (n_times, steps + 1)
        self._to_steps = linear(elapsed, ends)[0]  # (steps + 1, n_times)
        self._last: tuple[bytes, Trajectory] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Make the experiment again in another process, where the problem builds the scene."""
        return FemExperiment, (self.problem, self.recording, self.frame)

    @property
    @override
    def effects(self) -> tuple[Effect, ...]:
        return (*signal_effects(self), *self.problem.scene_effects)

    def _check(self) -> None:
        run, problem = self.recording, self.problem
        shapes = (
            (run.inputs, problem.inputs, "inputs"),
            (run.outputs, problem.channels, "outputs"),
        )
        for columns, channels, label in shapes:
            if columns.shape != (len(run.time), len(channels)):
                raise IdentificationError(
                    f"Recording '{run.name}' has {label} of shape {columns.shape}; problem "
                    f"'{problem.name}' needs {(len(run.time), len(channels))}: "
                    f"{', '.join(channel.name for channel in channels)}."
                )
        if len(run.time) < 2 or not (np.diff(run.time) > 0.0).all():
            raise IdentificationError(
                f"Recording '{run.name}' needs two samples or more, at times that increase."
            )
        if not np.isfinite(run.inputs).all():
            raise IdentificationError(
                f"Recording '{run.name}': inputs are missing at some times; they drive the robot "
                "and are needed at every time."
            )

    @property
    @override
    def name(self) -> str:
        return self.recording.name

    @property
    @override
    def parameters(self) -> tuple[FemParameter | FrameParameter, ...]:
        return self.problem.parameters

    @property
    @override
    def channels(self) -> tuple[Channel, ...]:
        return self.problem.channels

    @property
    @override
    def inputs(self) -> tuple[Channel, ...]:
        return self.problem.inputs

    @property
    @override
    def time(self) -> np.ndarray:
        return self.recording.time

    @property
    @override
    def measured(self) -> np.ndarray:
        return self.recording.outputs

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on regions, markers, their frame and the size of the motion."""
        return (*self.problem.notes, *self._on_frame(), *self._on_inputs())

    def _on_frame(self) -> list[str]:
        """A note on the fit of the markers' frame."""
        if not self.problem.register_by:
            return []
        names, unit = ", ".join(self.problem.register_by), symbol(self.problem.units, "length")
        text = (
            f"the markers' frame was fitted to the mean places of {names} in the first recording, "
            f"within {self.frame.rms:.2g} {unit} (rms)"
        )
        if not len(self._framing):
            return [f"{text}; intervals leave out its error: add frame_parameters()"]
        return [
            f"{text}; frame.turn and frame.shift correct that fit: they are its error, not the "
            "orientation of the camera"
        ]

    def _on_inputs(self) -> list[str]:
        """Return a note if the measured motion is far larger, or smaller, than the predicted."""
        is_measured = np.isfinite(self.measured)
        try:
            predicted = np.where(is_measured, self.outputs(starts(self.parameters)), np.nan)
        except SimulationError:
            return []  # reported by the search
        has_samples = is_measured.sum(axis=0) > 1
        measured_deviation, predicted_deviation = (
            float(np.sqrt(np.nanvar(y[:, has_samples], axis=0).sum()))
            for y in (self.measured, predicted)
        )
        noise = np.array([channel.deviation for channel in self.channels])[has_samples]
        larger, smaller = (
            max(measured_deviation, predicted_deviation),
            min(measured_deviation, predicted_deviation),
        )
        # A note if the ratio exceeds 30, and the motion three deviations of the noise.
        if larger <= max(30.0 * smaller, 3.0 * float(np.linalg.norm(noise))):
            return []
        unit = symbol(self.problem.units, "length")
        inputs = ", ".join(f"{channel.name} [{channel.unit}]" for channel in self.inputs)
        text = (
            f"the robot varied by {measured_deviation:.3g} {unit} (deviation over time, all "
            "outputs together), "
            f"the model at the start by {predicted_deviation:.3g} {unit}: check the unit of "
            f"inputs, {inputs}, "
            "and the starts of parameters"
        )
        by_effort = [drive for drive in self.problem.drives if not drive.by_displacement]
        if not by_effort:
            return [text]
        dt, first_drive = self.derivative.step.dt, by_effort[0]
        name = f"{first_drive.path.rsplit('/', 1)[-1]}.{first_drive.lam}"
        return [
            f"{text}. A tension is a force, a pressure a stress; {name} of a record is that x dt, "
            f"here {dt:g} times as much: use the record itself as data"
        ]

    @override
    def outputs(self, rho: np.ndarray) -> np.ndarray:
        return self._place(self._at_samples(self._run(rho).outputs), self._pose(rho))

    @override
    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        motion, pose = self._run(rho, sensitivities=True), self._pose(rho)
        assert motion.by_parameters is not None
        at_samples, slopes = (
            self._at_samples(motion.outputs),
            self._at_samples(motion.by_parameters),
        )
        derivatives = np.zeros((*at_samples.shape, len(self.parameters)))
        derivatives[:, :, self._physical] = slopes
        rotated = pose.turn(slopes[:, self._xyz].swapaxes(2, 3)).swapaxes(2, 3)
        marker_index = (
            slice(None),
            self._xyz[:, :, None],
        )  # of the markers, by time, marker, axis, rho
        derivatives[(*marker_index, self._physical)] = rotated
        derivatives[(*marker_index, self._framing)] = pose.by_correction(at_samples[:, self._xyz])[
            ..., self._components
        ]
        return self._place(at_samples, pose), derivatives

    @override
    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        motion, pose = self._run(rho), self._pose(rho)
        at_samples = self._at_samples(motion.outputs)
        outputs = self._place(at_samples, pose)
        weights = np.array(gradient(outputs), dtype=float)
        by_parameters = np.zeros(len(self.parameters))
        slopes = pose.by_correction(at_samples[:, self._xyz])[..., self._components]
        by_parameters[self._framing] = np.tensordot(weights[:, self._xyz], slopes, axes=3)
        weights[:, self._xyz] = pose.turn_back(weights[:, self._xyz])
        by_outputs = np.zeros_like(motion.outputs)
        by_outputs[:, self._places] = self._to_samples.T @ weights
        swept = self.model.pull_back(motion, by_outputs)
        by_parameters[self._physical] = swept.by_parameters
        return PulledBack(outputs, by_parameters, self._to_steps.T @ swept.by_drive)

    @property
    def _components(self) -> list[int]:
        """Components of the pose that are parameters."""
        parameters = self.parameters
        return [
            parameter.component for parameter in parameters if isinstance(parameter, FrameParameter)
        ]

    def _pose(self, rho: np.ndarray) -> Pose:
        correction = np.zeros(6)
        correction[self._components] = np.asarray(rho, dtype=float)[self._framing]
        return Pose(self.frame, correction)

    def _place(self, at_samples: np.ndarray, pose: Pose) -> np.ndarray:
        """Transform the markers of outputs (n_times, n_y) to the measured frame."""
        placed = at_samples.copy()
        placed[:, self._xyz] = pose.place(at_samples[:, self._xyz])
        return placed

    @override
    def with_input_errors(self, errors: np.ndarray) -> FemExperiment:
        changed = copy(self)
        changed.recording = replace(self.recording, inputs=self.recording.inputs + errors)
        changed._last = None
        return changed

    def refinements(self) -> tuple[Refinement, ...]:
        """Return refinements by half the time step, and by a finer mesh, both of first order.

        Linear tetrahedra are of second order in displacement for smooth solutions, of less at the
        edges of clamps and loads, and if they lock, such as nearly incompressible ones. A mesh
        with half the size of elements costs 15 times as much: eight times the nodes, and more fill.
        """
        ms, finer_mesh = 1e3 * self.dt, self.problem.finer_mesh
        step_text = f"with a time step of {0.5 * ms:.4g} instead of {ms:.4g} ms"
        mesh_text = (
            "with each tetrahedron split in eight"
            if finer_mesh is None
            else f"with {', '.join(f'{name} = {value}' for name, value in finer_mesh.items())}"
        )
        return (
            Refinement("dt", "time step", step_text, partial(self._refine, "dt"), 1, 2.0),
            Refinement("mesh", "mesh", mesh_text, partial(self._refine, "mesh"), 1, 15.0),
        )

    def _refine(self, name: str) -> FemExperiment:
        """Return the experiment of the same recording and frame of the markers on a finer model."""
        finer = self.problem.finer[name]
        if finer.split > self.problem.split:
            check_split(self.problem.model, finer.model)
        return FemExperiment(finer, self.recording, self.frame)

    def with_recording(self, change: Callable[[Recording], Recording]) -> FemExperiment:
        """Return the experiment of the changed recording, in the same frame of the markers."""
        changed = copy(self)
        changed.recording, changed._last = change(self.recording), None
        return changed

    def _run(self, rho: np.ndarray, *, sensitivities: bool = False) -> Trajectory:
        rho = np.asarray(rho, dtype=float)
        if rho.shape != (len(self.parameters),):
            raise IdentificationError(
                f"'{self.problem.name}' has {len(self.parameters)} parameters; got an array of "
                f"shape {rho.shape}."
            )
        self._apply(rho[self._physical])
        key = rho[self._physical].tobytes()
        if self._last is not None and self._last[0] == key:
            if not sensitivities or self._last[1].by_parameters is not None:
                return self._last[1]  # score tests need the same motion for each effect
        drive = self._to_steps @ self.recording.inputs
        motion = self.model.run(drive, sensitivities=sensitivities)
        self._last = (key, motion)
        return motion

    def _apply(self, rho: np.ndarray) -> None:
        """Set the parameters of the scene."""
        names = [parameter.name for parameter in self.problem.physical]
        for name, step_parameter, value in zip(names, self.derivative.parameters, rho, strict=True):
            if not step_parameter.allowed(value):
                raise SimulationError(f"The scene cannot be simulated with {name} = {value:g}.")
            step_parameter.set(float(value))

    def _at_samples(self, states: np.ndarray) -> np.ndarray:
        """Interpolate outputs of all steps, or their derivatives, at the recorded times."""
        selected = states[:, self._places]
        flat = self._to_samples @ selected.reshape(len(selected), -1)
        return flat.reshape(-1, *selected.shape[1:])
