"""Measured displacements of a real robot: the model does not run ahead of its motors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import Sofa
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.inverse.aspects.aspect import ControlStep, StepAspect
from sofa_softctl.scene.control import options
from sofa_softctl.scene.graph.nodes import devices_stay_closed

DISPLACEMENTS = ("length", "angle", "volume")
"""Quantities of a robot whose measured positions are displacements."""


class MeasuredDisplacements(StepAspect):
    """Keeps the model's displacements near those that the robot's motors have reached.

    An actuator that is further than `lead` from its motor's measured displacement moves no further
    away in the step: it waits. It is not forced back, which a motor could not follow either, and
    it may always come nearer. A missing measurement (NaN) sets no limit.

    Args:
        controller: The InverseController.
        measured: Data with a displacement for each actuator [displacement], shape (n_a,), or its
            path, such as "@bridge.measured", which is looked up in the first step.
        lead: Largest distance ahead of each motor [displacement], shape (n_a,).
        names: Names of the actuators.
    """

    def __init__(
        self, controller: Any, measured: Any, lead: np.ndarray, names: Sequence[str]
    ) -> None:
        if not (options.is_data(measured) or options.is_data_path(measured)):
            expected = 'a Data with a number for each actuator, or its path: "@bridge.measured"'
            options.raise_invalid_option(controller, "measured", expected, measured)
        self.controller, self.lead, self.names = controller, lead, tuple(names)
        self._source = measured
        self._data: Any = None
        self.forget()

    @override
    def forget(self) -> None:
        self._has_value = self._had_value = np.zeros(len(self.names), dtype=bool)
        self._measured = np.full(len(self.names), np.nan)
        self.held = np.zeros(len(self.names), dtype=int)
        """Steps in which each actuator waited for its motor."""
        self.missing = np.zeros(len(self.names), dtype=int)
        """Steps without a measurement of each actuator, after its first one."""

    @override
    def snapshot(self) -> Any:
        return self._has_value, self._had_value, self.held.copy(), self.missing.copy()

    @override
    def restore(self, snapshot: Any) -> None:
        self._has_value, self._had_value, self.held, self.missing = (a.copy() for a in snapshot)

    @override
    def limit(self, limits: dict[str, np.ndarray], displaced: np.ndarray, time: float) -> None:
        del time
        if devices_stay_closed(self.controller.root):  # of a copy nothing is measured
            return
        measured = self._read()
        is_measured = np.isfinite(measured)
        self._warn(is_measured)
        low = np.where(is_measured, np.minimum(measured - self.lead, displaced), -np.inf)
        high = np.where(is_measured, np.maximum(measured + self.lead, displaced), np.inf)
        self._measured = measured
        limits["displacement_min"][:] = np.maximum(limits["displacement_min"], low)
        limits["displacement_max"][:] = np.minimum(limits["displacement_max"], high)

    @override
    def update(self, step: ControlStep) -> Iterable[str]:
        distance = np.abs(step.displacement - self._measured)
        self.held += distance >= self.lead * (1.0 - 1e-6)  # at the limit, rounding aside
        return ()

    @override
    def warnings(self) -> Iterator[str]:
        for name, waited, missing in zip(self.names, self.held, self.missing, strict=True):
            if waited:
                yield f"{name} waited for its motor in {waited} steps"
            if missing:
                yield f"{name} had no measurement in {missing} steps"

    def _warn(self, is_measured: np.ndarray) -> None:
        """Count missing measurements, and warn of each that was there in the step before."""
        self.missing += self._had_value & ~is_measured
        names = [self.names[int(i)] for i in np.flatnonzero(self._has_value & ~is_measured)]
        if names:
            Sofa.msg_warning(
                self.controller,
                f"{', '.join(names)}: no measurement any more, or too old. Until there is one, the "
                "model does not wait for the motor.",
            )
        self._has_value = is_measured
        self._had_value = self._had_value | is_measured

    def _read(self) -> np.ndarray:
        if self._data is None:
            self._data = self._find()
        values = options.as_floats(self._data)
        if values is None or values.shape != (len(self.names),):
            options.raise_invalid_option(
                self.controller,
                "measured",
                f"a Data with a number for each of the {len(self.names)} actuators",
                self._data,
            )
        return values

    def _find(self) -> Any:
        data = options.find_data(self.controller, "measured", self._source, "@bridge.measured")
        self._check(data)
        return data

    def _check(self, data: Any) -> None:
        """Refuse a bridge that commands efforts: it does not measure displacements."""
        quantities = getattr(data.getOwner(), "quantities", ())
        if wrong := set(quantities) - {"", *DISPLACEMENTS}:
            raise SceneError(
                f"InverseController: measured='{data.getName()}' has {', '.join(sorted(wrong))}, "
                "not displacements. Command the robot in lengths, angles or volumes, or leave "
                "`measured` out."
            )
