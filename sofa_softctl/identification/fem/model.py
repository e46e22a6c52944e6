"""Model of a FEM robot: its scene, unknown parameters, recorded drives and sensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import IdentificationError
from sofa_softctl.identification.fem.parameter import FemParameter, FrameParameter, with_unit
from sofa_softctl.identification.fem.registration import Registration
from sofa_softctl.identification.fem.sensing import (
    CableLength,
    CavityVolume,
    Drive,
    Marker,
    PressureDrive,
    check_markers,
)
from sofa_softctl.identification.model.channel import Channel
from sofa_softctl.identification.model.problem import Problem
from sofa_softctl.scene.copies.step_model import Region, StepDerivative, StepModel, StepParameter
from sofa_softctl.scene.session.loader import load_scene, parameters_of
from sofa_softctl.units import Units, symbol

if TYPE_CHECKING:
    from sofa_softctl.identification.model.experiment import Effect


def check_regions(
    parameters: Sequence[FemParameter], step_parameters: Sequence[StepParameter]
) -> None:
    """Check that no tetrahedron belongs to two regions of the same parameter.

    Args:
        parameters: Parameters of the scene.
        step_parameters: The same parameters in the model.

    Raises:
        IdentificationError: A tetrahedron belongs to two regions.
    """
    owner: dict[tuple[int, int, int], str] = {}
    for parameter, region in zip(parameters, step_parameters, strict=True):
        if not isinstance(region, Region):
            continue
        for element, number in product(region.elements, region.sets):
            key = (id(region.field), int(element), number)
            if key in owner:
                raise IdentificationError(
                    f"Regions '{owner[key]}' and '{parameter.name}' share tetrahedra, first "
                    f"{int(element)}: separate them."
                )
            owner[key] = parameter.name


def notes_on_partial_regions(
    parameters: Sequence[FemParameter],
    step_parameters: Sequence[StepParameter],
    units: Units | None,
) -> list[str]:
    """Notes on force fields with tetrahedra inside and outside regions.

    Args:
        parameters, found: As for `check_regions`.
        units: Units of the scene.
    """
    groups: dict[tuple[int, str], dict[str, Region]] = {}
    for parameter, region in zip(parameters, step_parameters, strict=True):
        if isinstance(region, Region):
            groups.setdefault((id(region.field), region.quantity), {})[parameter.name] = region
    notes = []
    for regions in groups.values():
        first = next(iter(regions.values()))
        field, values = first.field, first.values()
        is_outside = np.ones(len(field.elements), dtype=bool)
        for region in regions.values():
            is_outside[region.elements] = False
        if not is_outside.any():
            continue
        axis = int(np.ptp(field.x0, axis=0).argmax())
        coordinates = field.x0[field.elements[is_outside]].mean(axis=1)[:, axis]
        remaining_values = values[is_outside]
        value_range = " to ".join(
            dict.fromkeys(f"{v:.4g}" for v in (remaining_values.min(), remaining_values.max()))
        )
        notes.append(
            f"{is_outside.sum()} of {len(is_outside)} tetrahedra, {'xyz'[axis]} from "
            f"{coordinates.min():.4g} to "
            f"{coordinates.max():.4g} {symbol(units, 'length')}, belong to no region "
            f"({', '.join(regions)}): they keep the scene's {first.quantity}, {value_range} "
            f"{symbol(units, 'pressure')}"
        )
    return notes


@dataclass(frozen=True, eq=False)
class FemModel(Problem):
    """A FEM robot without its experiments, which hold it; see `FemProblem`."""

    name: str
    """Name in reports and messages."""
    scene: str | Path | Callable[..., Any] = field()  # required: None is Problem's default
    """Scene file or createScene."""
    parameters: tuple[FemParameter | FrameParameter, ...]
    """Unknown parameters, in the UNITS of the scene."""
    drives: tuple[Drive | PressureDrive, ...]
    """Recorded inputs."""
    sensors: tuple[Marker | CableLength | CavityVolume, ...]
    """Recorded outputs."""
    settled: bool = True
    """Whether a recording begins in equilibrium under the first inputs; otherwise in the initial
    state of the scene."""
    scene_parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of createScene, such as dt."""
    wait: float = 0.0
    """Time until the robot of the scene is at rest; records of `softctl run` count from then on
    [scene time]."""
    frame: Registration | None = None
    """Pose of the scene in the frame of the markers, by default the frame of the scene."""
    register_by: tuple[str, ...] = ()
    """Markers on or near the clamp: the frame is fitted to their mean positions in the first
    recording, and is the same for the others. `frame_parameters` estimate the error of this fit."""
    finer_mesh: dict[str, Any] | None = None
    """Parameters of createScene with which its mesh is twice as fine, for the error of the mesh;
    None: each tetrahedron is split in eight."""
    payload_at: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """Positions on the mesh at rest of payloads that may be switched on, by name [length]; without
    any: cross-sections from the free end down, and markers."""
    dt: float | None = None
    """Time step, in place of the scene's [scene time]."""
    split: int = 0
    """Number of times that each tetrahedron of the scene's mesh files is split in eight."""

    def __post_init__(self) -> None:
        units, scene = self.units, str(self.scene)
        parameters = tuple(with_unit(parameter, units, scene) for parameter in self.parameters)
        object.__setattr__(self, "parameters", parameters)

    def __getstate__(self) -> dict[str, Any]:
        """Return fields and the fitted frame; another process builds the scene again."""
        names = [*(field.name for field in fields(self)), "_camera"]
        return {name: vars(self)[name] for name in names if name in vars(self)}

    @cached_property
    def model(self) -> StepModel:
        """The scene, built on first use."""
        driven = [(drive.path, drive.by_displacement) for drive in self.drives]
        scene_arguments = dict(self.scene_parameters)
        if self.dt is not None and "dt" in parameters_of(self._create):
            scene_arguments["dt"] = self.dt
        return StepModel(
            self.scene, parameters=scene_arguments, driven=driven, dt=self.dt, split=self.split
        )

    @cached_property
    def finer(self) -> dict[str, FemModel]:
        """The problem with half the time step, and with a finer mesh; scenes are not built yet."""
        finer = self.finer_mesh
        mesh = (
            replace(self, split=self.split + 1)
            if finer is None
            else replace(self, scene_parameters=self.scene_parameters | finer, finer_mesh=None)
        )
        return {"dt": replace(self, dt=0.5 * self.model.step.dt), "mesh": mesh}

    @property
    @abstractmethod
    def scene_effects(self) -> tuple[Effect, ...]:
        """Masses and damping that could be unknown as well; builds the scene."""

    @property
    def physical(self) -> tuple[FemParameter, ...]:
        """Parameters of the scene, without parameters of the frame."""
        return tuple(
            parameter for parameter in self.parameters if isinstance(parameter, FemParameter)
        )

    @cached_property
    def derivative(self) -> StepDerivative:
        """Derivatives of the model's steps by the parameters."""
        step_parameters = [parameter.of(self.model) for parameter in self.physical]
        check_regions(self.physical, step_parameters)
        return StepDerivative(self.model.step, step_parameters)

    @cached_property
    def units(self) -> Units | None:
        """Units of the scene file, or None if unknown, with times in seconds."""
        if callable(self.scene) or self.scene in _READING:
            return None
        _READING.append(self.scene)  # a file that makes its problem on import
        try:
            return load_scene(self.scene).units
        finally:
            _READING.remove(self.scene)

    @property
    def _create(self) -> Callable[..., Any]:
        """CreateScene of the scene."""
        create: Callable[..., Any] = (
            self.scene if callable(self.scene) else load_scene(self.scene).create
        )
        return create

    @property
    def second(self) -> float:
        """One unit of the scene's time [s]."""
        return 1.0 if self.units is None else self.units.in_si("time")

    @property
    @override
    def inputs(self) -> tuple[Channel, ...]:
        units = self.units
        return tuple(Channel(d.name, symbol(units, d.quantity), d.deviation) for d in self.drives)

    @property
    @override
    def channels(self) -> tuple[Channel, ...]:
        return tuple(channel for sensor in self.sensors for channel in sensor.channels(self.units))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on markers and regions, for all recordings.

        Raises:
            IdentificationError: A marker is far from the robot.
        """
        regions = notes_on_partial_regions(self.physical, self.derivative.parameters, self.units)
        return (*check_markers(self.model, self.sensors, self.units), *regions)

    def scene_values(self, rho: np.ndarray) -> dict[str, Any]:
        """Parameters of createScene: the estimated ones, and `scene_parameters`.

        For `Session(scene, parameters=...)`, or `softctl run SCENE --set NAME=VALUE`.

        Raises:
            IdentificationError: createScene does not take a `scene_parameter`.
        """
        valid_names = parameters_of(self._create)
        scene_arguments = dict(self.scene_parameters)
        for parameter, value in zip(self.parameters, np.asarray(rho, dtype=float), strict=True):
            name = parameter.scene_parameter if isinstance(parameter, FemParameter) else None
            if name is None:
                continue
            if name not in valid_names:
                raise IdentificationError(
                    f"Parameter '{parameter.name}' has scene_parameter '{name}', which createScene "
                    f"does not take. It takes: {', '.join(valid_names) or 'none'}."
                )
            scene_arguments[name] = float(value)
        return scene_arguments

    @property
    @override
    def not_in_scene(self) -> tuple[str, ...]:
        return tuple(
            parameter.name for parameter in self.physical if parameter.scene_parameter is None
        )


_READING: list[str | Path] = []
"""Scene files whose units are being read."""
