"""FEM robots in scenes as problems of identification, with exact derivatives of their steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.errors import IdentificationError, SimulationError
from sofa_softctl.identification.experiment import Channel, PulledBack
from sofa_softctl.identification.fem_parameter import FemParameter
from sofa_softctl.identification.fem_signal import CableLength, Drive, Marker
from sofa_softctl.identification.parameter import starts
from sofa_softctl.identification.recording import Recording
from sofa_softctl.identification.registration import Registration, register
from sofa_softctl.scene.loader import load_scene, parameters_of
from sofa_softctl.scene.step_model import (
    Frame,
    Motion,
    MotionModel,
    StepDerivative,
    StepModel,
    StepOutputs,
)
from sofa_softctl.units import Units


@dataclass(frozen=True, eq=False)
class FemProblem:
    """Unknown numbers of a scene, what drove its robot, and what was measured of it.

    The scene's own controllers are not run: recorded inputs take their place. A recording may have
    any times: the scene steps with its dt, an input counts at the end of each step, and both
    inputs and predictions are interpolated linearly.
    """

    name: str
    """For people."""
    scene: str | Path | Callable[..., Any]
    """Scene file or createScene."""
    parameters: tuple[FemParameter, ...]
    """What is unknown."""
    drives: tuple[Drive, ...]
    """Recorded inputs."""
    sensors: tuple[Marker | CableLength, ...]
    """Recorded outputs."""
    settled: bool = True
    """Whether the robot rests under the first inputs when a recording begins; otherwise it starts
    as the scene does."""
    scene_parameters: dict[str, Any] = field(default_factory=dict)
    """Of createScene, such as dt."""
    frame: Registration | None = None
    """Where the scene's axes are for the markers; None: they are measured in the scene's own."""
    register_by: tuple[str, ...] = ()
    """Markers on the clamp, or near it: from their mean positions the frame is fitted in each
    recording. Without noise to matter there must be many samples, and the markers far apart."""

    @cached_property
    def model(self) -> StepModel:
        """The scene, built when it is first asked for."""
        driven = [(drive.cable, drive.by_length) for drive in self.drives]
        return StepModel(self.scene, parameters=self.scene_parameters, driven=driven)

    @cached_property
    def derivative(self) -> StepDerivative:
        """Its steps, derived by the parameters."""
        found = [parameter.of(self.model) for parameter in self.parameters]
        _check_regions(self.parameters, found)
        return StepDerivative(self.model.step, found)

    @cached_property
    def units(self) -> Units:
        """Of the scene file; mm, kg, s where it says nothing."""
        told = None if callable(self.scene) else load_scene(self.scene).units
        return Units("mm", "kg", "s") if told is None else told

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """See Problem."""
        units = {True: self.units.symbol("length"), False: self.units.symbol("force")}
        return tuple(Channel(d.name, units[d.by_length], d.deviation) for d in self.drives)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """See Problem."""
        length = self.units.symbol("length")
        return tuple(one for sensor in self.sensors for one in sensor.channels(length))

    def experiment(self, recording: Recording) -> FemExperiment:
        """See Problem."""
        frame = self.frame
        if self.register_by:
            frame = self._registered(recording)
        return FemExperiment(self, recording, frame)

    def _registered(self, recording: Recording) -> Registration:
        """The frame in which some markers, on average over time, are where they are predicted."""
        names = [channel.name for channel in self.channels]
        try:
            at = [[names.index(f"{one}.{axis}") for axis in "xyz"] for one in self.register_by]
        except ValueError as error:
            raise IdentificationError(
                f"Problem '{self.name}' registers by markers that it does not measure: {error}. "
                f"It has: {', '.join(names)}."
            ) from error
        predicted = FemExperiment(self, recording).outputs(starts(self.parameters))[:, at]
        measured = recording.outputs[:, at]  # (n_times, markers, 3)
        seen = np.isfinite(measured).all(axis=2, keepdims=True)
        count = seen.sum(axis=0)
        means = [
            np.where(seen, positions, 0.0).sum(axis=0) / np.where(count, count, np.nan)
            for positions in (measured, predicted)
        ]
        return register(*means, names=self.register_by)

    def scene_values(self, rho: np.ndarray) -> dict[str, float]:
        """Those parameters that createScene takes under the same name, with their values.

        For `Session(scene, parameters=...)`, or `softctl run SCENE --set NAME=VALUE`.
        """
        create = self.scene if callable(self.scene) else load_scene(self.scene).create
        known = parameters_of(create)
        values = zip(self.parameters, np.asarray(rho, dtype=float), strict=True)
        return {one.name: float(value) for one, value in values if one.name in known}


class FemExperiment:
    """One recorded run of a FEM robot, and the scene that predicts it.

    Args:
        problem: What is unknown, recorded and measured.
        recording: The run; its columns are the problem's inputs and channels.
        frame: In which markers were measured.

    Raises:
        IdentificationError: The recording does not fit the problem.
        SceneError: The scene lacks something, or has something whose derivative is not known.
    """

    def __init__(
        self, problem: FemProblem, recording: Recording, frame: Registration | None = None
    ) -> None:
        self.problem, self.recording, self.frame = problem, recording, frame
        self._check()
        self.derivative = problem.derivative
        self._places, outputs = _outputs(problem, frame)
        self.model = MotionModel(self.derivative, outputs, settled=problem.settled)
        dt = self.derivative.step.dt * problem.units.in_si("time")
        self.dt = dt
        """Length of a step [s]."""
        elapsed = recording.time - recording.time[0]
        self.steps = max(1, math.ceil(elapsed[-1] / dt - 1e-6))
        ends = dt * np.arange(self.steps + 1)
        self._to_samples = interpolation(ends, elapsed)  # (n_times, steps + 1)
        self._to_steps = interpolation(elapsed, ends[1:])  # (steps, n_times)
        self._last: tuple[bytes, Motion] | None = None

    def _check(self) -> None:
        run, problem = self.recording, self.problem
        shapes = (
            (run.inputs, problem.inputs, "inputs"),
            (run.outputs, problem.channels, "outputs"),
        )
        for columns, channels, what in shapes:
            if columns.shape != (len(run.time), len(channels)):
                raise IdentificationError(
                    f"Recording '{run.name}' has {what} of shape {columns.shape}; problem "
                    f"'{problem.name}' needs {(len(run.time), len(channels))}: "
                    f"{', '.join(one.name for one in channels)}."
                )
        if len(run.time) < 2 or not (np.diff(run.time) > 0.0).all():
            raise IdentificationError(
                f"Recording '{run.name}' needs two samples or more, at times that increase."
            )
        if not np.isfinite(run.inputs).all():
            raise IdentificationError(
                f"Recording '{run.name}': inputs are missing at some times; they drive the robot "
                "and are needed throughout."
            )

    @property
    def name(self) -> str:
        """See Experiment."""
        return self.recording.name

    @property
    def parameters(self) -> tuple[FemParameter, ...]:
        """See Experiment."""
        return self.problem.parameters

    @property
    def channels(self) -> tuple[Channel, ...]:
        """See Experiment."""
        return self.problem.channels

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """See Experiment."""
        return self.problem.inputs

    @property
    def time(self) -> np.ndarray:
        """See Experiment."""
        return self.recording.time

    @property
    def measured(self) -> np.ndarray:
        """See Experiment."""
        return self.recording.outputs

    def outputs(self, rho: np.ndarray) -> np.ndarray:
        """See Experiment."""
        return self._at_samples(self._run(rho).outputs)

    def sensitivities(self, rho: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See Experiment."""
        motion = self._run(rho, sensitivities=True)
        assert motion.by_parameters is not None
        return self._at_samples(motion.outputs), self._at_samples(motion.by_parameters)

    def pull_back(
        self, rho: np.ndarray, gradient: Callable[[np.ndarray], np.ndarray]
    ) -> PulledBack:
        """See Experiment."""
        motion = self._run(rho)
        outputs = self._at_samples(motion.outputs)
        weights = np.asarray(gradient(outputs), dtype=float)
        by_outputs = np.zeros_like(motion.outputs)
        by_outputs[:, self._places] = self._to_samples.T @ weights
        found = self.model.pull_back(motion, by_outputs)
        return PulledBack(outputs, found.by_parameters, self._to_steps.T @ found.by_drive)

    def measured_by_inputs(self, weights: np.ndarray) -> np.ndarray:
        """See Experiment: markers and lengths are measured on their own, so zero."""
        del weights
        return np.zeros_like(self.recording.inputs)

    def _run(self, rho: np.ndarray, *, sensitivities: bool = False) -> Motion:
        rho = np.asarray(rho, dtype=float)
        key = rho.tobytes()
        if not sensitivities and self._last is not None and self._last[0] == key:
            self._apply(rho)
            return self._last[1]
        self._apply(rho)
        motion = self.model.run(self._to_steps @ self.recording.inputs, sensitivities=sensitivities)
        self._last = (key, motion)
        return motion

    def _apply(self, rho: np.ndarray) -> None:
        """Bring the parameters into the scene."""
        if rho.shape != (len(self.parameters),):
            raise IdentificationError(
                f"'{self.problem.name}' has {len(self.parameters)} parameters, got {rho.shape}."
            )
        for one, found, value in zip(self.parameters, self.derivative.parameters, rho, strict=True):
            if not found.allowed(value):
                raise SimulationError(f"The scene cannot be simulated with {one.name} = {value:g}.")
            found.set(float(value))

    def _at_samples(self, states: np.ndarray) -> np.ndarray:
        """Outputs of all steps, or their derivatives, at the recorded times, in their order."""
        chosen = states[:, self._places]
        flat = self._to_samples @ chosen.reshape(len(chosen), -1)
        return flat.reshape(-1, *chosen.shape[1:])


def interpolation(known: np.ndarray, wanted: np.ndarray) -> sparse.csr_array:
    """Weights of values at known times in those at wanted ones, linear, shape (n_w, n_k).

    Beyond the last known time its value stays.
    """
    right = np.clip(np.searchsorted(known, wanted, side="left"), 1, len(known) - 1)
    width = known[right] - known[right - 1]
    share = np.clip((wanted - known[right - 1]) / width, 0.0, 1.0)
    rows = np.arange(len(wanted))
    data = np.concatenate([1.0 - share, share])
    places = (np.concatenate([rows, rows]), np.concatenate([right - 1, right]))
    return sparse.csr_array((data, places), shape=(len(wanted), len(known)))


def _outputs(problem: FemProblem, frame: Registration | None) -> tuple[np.ndarray, StepOutputs]:
    """Where each channel is among the outputs of a step, shape (n_y,), and these."""
    model, places = problem.model, []
    points = [sparse.csr_array((0, model.step.size))]
    cables: list[Any] = []
    markers = [sensor for sensor in problem.sensors if isinstance(sensor, Marker)]
    for sensor in problem.sensors:
        if isinstance(sensor, Marker):
            first = 3 * (len(points) - 1)
            places += [first, first + 1, first + 2]
            points.append(_point(model, sensor))
        else:
            places.append(3 * len(markers) + len(cables))
            cables.append(model.cable(sensor.cable))
    turned = None if frame is None else Frame(frame.rotation, frame.translation)
    stacked = sparse.csr_array(sparse.vstack(points, format="csr"))
    return np.array(places), StepOutputs(model.step, stacked, cables, turned)


def _point(model: StepModel, marker: Marker) -> sparse.csr_array:
    if (marker.at is None) == (marker.state is None):
        raise IdentificationError(
            f"Marker '{marker.name}' needs either 'at', a place on the mesh, or 'state', a node."
        )
    if marker.state is not None:
        return model.point(marker.state, marker.index)
    return model.attached(np.array([marker.at]))


def _check_regions(parameters: Sequence[FemParameter], found: Sequence[Any]) -> None:
    """No tetrahedron may belong to two regions."""
    owner: dict[tuple[int, int], str] = {}
    for one, region in zip(parameters, found, strict=True):
        for element in getattr(region, "elements", ()):
            key = (id(region.elastic), int(element))
            if key in owner:
                raise IdentificationError(
                    f"Regions '{owner[key]}' and '{one.name}' share tetrahedra, first "
                    f"{int(element)}: make them apart."
                )
            owner[key] = one.name
