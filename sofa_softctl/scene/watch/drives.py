"""Components that impose efforts or displacements, and their values in a run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.system import effort_factor
from sofa_softctl.scene.graph.nodes import objects_of
from sofa_softctl.scene.watch.actuators import driven_components
from sofa_softctl.units import Units, symbol

CUT_TOLERANCE = 1e-6
"""Relative difference of efforts up to which they are equal [-]."""


class DriveKind(NamedTuple):
    """Names of Data of components that impose an effort or a displacement."""

    prefix: str
    """Prefix of the names of the classes."""
    quantity: str
    """Quantity of the effort, 'force' or 'pressure'; also the Data with SOFA's multiplier."""
    displacement: str
    """Data with the measured displacement; also a valueType."""
    unit: str
    """Quantity of the displacement."""
    at_rest: str
    """Data with the length or volume at rest."""
    limits: tuple[str, str, str, str]
    """Data of limits: smallest and largest effort, largest displacement and change of effort."""
    growth_max: float
    """Displacement by the length or volume at rest, above which a rising one runs away [-]."""
    faint_ratio: float
    """Effort below which its effect is invisible, by the modulus, or for a force by the force that
    bends the body, as a beam, by its own length [-]."""
    faint_growth: float
    """Largest invisible displacement by the length or volume at rest [-]."""


PRESSURE_FIELD = DriveKind(
    "SurfacePressureForceField", "pressure", "", "", "", ("", "", "", ""), np.inf, 0.0, 0.0
)
"""Forces of a pressure, which they take as it is; they measure no growth and have no limits."""
DRIVE_KINDS = (
    DriveKind(
        "Cable", "force", "displacement", "length", "cableInitialLength",
        ("minForce", "maxForce", "maxPositiveDisp", ""), 0.3, 2.5e-4, 1e-4,
    ),
    DriveKind(
        "SurfacePressure", "pressure", "volumeGrowth", "volume", "initialCavityVolume",
        ("minPressure", "maxPressure", "maxVolumeGrowth", "maxPressureVariation"), 1.0, 1e-3, 1e-3,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class DriveSettings:
    """Tolerances and limits of `Drive`."""

    steps_min: int = 50
    """Steps after which it is judged by its course [-]."""
    steps_at_end: int = 10
    """Steps at the end that show whether it still changes [-]."""
    rising_fraction_min: float = 0.95
    """Fraction of steps in which a value that runs away rises [-]."""
    period_max: int = 12
    """Largest period of a feedback's swing in steps [-]; twice this number for a feedback that
    reads no time and is at 0 in a quarter of the steps."""
    swing_min: float = 0.3
    """Smallest swing that counts, by the largest value [-]."""
    repetition_min: float = 0.9
    """Correlation of a swing with itself a period later [-]."""
    unlimited_ratio: float = 100.0
    """Limit of an effort by the material's bearable effort, above which it means no limit [-]."""
    swelling_ratio: float = 0.25
    """Pressure by the modulus, above which it is reported if the volume swells [-]."""
    swelling_min: float = 0.75
    """Growth by the volume at rest, above which it swells [-]."""
    levels_min: int = 5
    """Values within a swing; a valve that opens and shuts has two [-]."""


@dataclass
class Drive:
    """An actuator that imposes an effort, a displacement or a growth of volume."""

    component: Any
    kind: DriveKind
    root: Any
    units: Units | None
    settings: DriveSettings = field(default_factory=DriveSettings)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=60))
    """Values after the last steps: SOFA's measurement shows the one before the last."""
    steps: int = 0
    rising_steps: int = 0
    """Number of steps in which the absolute value rose."""
    set_steps: int = 0
    """Number of steps in which the value was set."""
    value_min: float = 0.0
    value_max: float = 0.0
    cut: dict[str, int] = field(default_factory=dict)
    """Steps in which a limit cut an effort that was imposed, by the name of the limit."""
    counter: int = 0

    def __post_init__(self) -> None:
        find = self.component.findData
        self._value = find("value" if self.kind.displacement else self.kind.quantity)
        self._index = find("valueIndex")
        self._limits: list[Any] = [find(name) if name else None for name in self.kind.limits]

    @property
    def name(self) -> str:
        """Class and path."""
        return f"{self.component.getClassName()} '{self.component.getPathName()}'"

    @property
    def at_rest(self) -> float:
        """Length or volume at rest [length or length^3]."""
        return float(self.component.findData(self.kind.at_rest).value)

    @property
    def is_effort(self) -> bool:
        """Return True if its value is an effort."""
        return not self.kind.displacement or bool(
            self.component.valueType.value != self.kind.displacement
        )

    @property
    def is_fed(self) -> bool:
        """Return True if what sets its value is known to read the state of the scene."""
        return self.is_timed is not None

    @property
    def is_timed(self) -> bool | None:
        """Return whether what feeds it back reads the time, too; None if it is not fed."""
        fed = getattr(getattr(self.root, "late_changes", None), "fed", {})
        return fed.get(self._value)  # type: ignore[no-any-return]

    @property
    def travel(self) -> float:
        """Displacement or growth at the start of the last step [length or length^3]."""
        return float(self.component.findData(self.kind.displacement).value)

    @property
    def value(self) -> float:
        """Value in the last step, before controllers set it again, or NaN if there is none."""
        changes = getattr(self.root, "late_changes", None)  # SOFA notes none
        used = {} if changes is None else changes.used
        values = np.ravel(used.get(self._value, self._value.value))
        index = 0 if self._index is None else int(self._index.value)
        return float(values[index]) if 0 <= index < len(values) else np.nan

    def step(self) -> None:
        """Note the value of a step."""
        value, counter = self.value, self._value.getCounter()
        self.rising_steps += bool(self.recent) and abs(value) > abs(self.recent[-1])
        self.set_steps += counter != self.counter
        self.counter = counter
        self.recent.append(value)
        self.value_min, self.value_max = min(self.value_min, value), max(self.value_max, value)
        self.steps += 1
        if self._limits[1] is not None and self.is_effort and (limit := self._cutting_limit(value)):
            self.cut[limit] = self.cut.get(limit, 0) + 1

    def _cutting_limit(self, value: float) -> str:
        """Return the name of the limit that cut an effort in the last step, or ''."""
        smallest, largest, displacement, rate = self._limits
        for name, limit, sign in zip(
            self.kind.limits, (smallest, largest), (-1.0, 1.0), strict=False
        ):
            if limit.isSet() and sign * (value - float(limit.value)) > 0.0:
                return name
        if not displacement.isSet() or (rate is not None and rate.isSet()):
            return ""
        multiplier = float(self.component.findData(self.kind.quantity).value)
        return self.kind.limits[2] if value - multiplier > CUT_TOLERANCE * abs(value) else ""

    def shortfall(self, tolerance: float) -> str:
        """Return a sentence if what is imposed was not reached, else ''."""
        if self.is_effort:
            return ""
        measured, imposed = self.travel, self.recent[-1]
        last = list(self.recent)[-2:]
        shortfall = min((value - measured for value in last), key=abs)
        limit_min = self.component.findData(self.kind.limits[0])
        if not (
            limit_min.isSet() and float(limit_min.value) >= 0.0
        ):  # it can push; others may be slack
            shortfall = abs(shortfall)
        if not shortfall > tolerance * max(abs(imposed), 0.1 * self.at_rest):
            return ""
        _, largest, displacement, _ = self.kind.limits
        effort = float(self.component.findData(self.kind.quantity).value)
        limits = [
            f"{name}={float(data.value):g}"
            for name, value in ((displacement, measured), (largest, effort))
            if (data := self.component.findData(name)).isSet()
            and value >= (1.0 - tolerance) * float(data.value)
        ]
        reason = f"its {limits[0]} lets" if limits else "a limit of its own, or the body, lets"
        if not self.component.getContext().isActive():
            reason = "its node has activated=False and lets"
        return (
            f"{self.name} imposes a "
            f"{self.kind.displacement} of {imposed:.4g}, and at the end there are {measured:.4g}: "
            f"{reason} no more."
        )

    def factor(self) -> float:
        """Return SOFA's multiplier of one unit of effort, 0 if nothing moves what it acts on."""
        if not self.kind.displacement:
            return 1.0
        try:
            return effort_factor(self.root, self.component)
        except SceneError:
            return 0.0

    def effort_text(self, value: float) -> str:
        """Return the effort of a value with its unit."""
        unit = symbol(self.units, self.kind.quantity)
        return f"{value / (self.factor() or 1.0):.4g} {unit}"


def drives_of(root: Any, units: Units | None) -> list[Drive]:
    """Return watches on drives without an inverse controller."""
    driven, drives = driven_components(root), []
    for component in objects_of(root):
        if component.getClassName() == PRESSURE_FIELD.prefix:
            drives.append(Drive(component, PRESSURE_FIELD, root, units))
        for kind in DRIVE_KINDS:
            names = ("value", "valueType", kind.displacement, kind.at_rest)
            if component.getClassName().startswith(kind.prefix) and all(
                map(component.findData, names)
            ):
                if component not in driven:
                    counter = component.value.getCounter()
                    drives.append(Drive(component, kind, root, units, counter=counter))
    return drives
