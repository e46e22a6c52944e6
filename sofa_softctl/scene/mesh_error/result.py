"""Estimates of how much stiffer meshes make bodies, in numbers and in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

WEIGHT, SOFTEST_MOTION = "its weight", "its softest motion"
"""Loads that are no actuators."""
NOTED_EXCESS = 0.1
"""Excess of stiffness that is worth a line after a run [-]."""
AIM = 0.15
"""Excess that the advised edge length leaves [-]."""
AGREEMENT = 0.1
"""Difference of two refinements up to which an estimate is called about right [-]."""


@dataclass(frozen=True)
class LoadEstimate:
    """Excess of stiffness under a load: stiffness of a mesh over that of its material, less 1."""

    load: str
    """The load: 'its weight', 'its softest motion', or the path of an actuator."""
    excess: float
    """Excess of the present element on the present mesh [-]."""
    without_locking: float | None = None
    """The same of `add_elasticity` on the present mesh [-]; None: not estimated, or it is that."""
    quadratic: float | None = None
    """The same of 10-node tetrahedra on the present mesh [-]; None: not estimated, hexahedra."""
    difference: float | None = None
    """Change of the compliance by the second refinement [-]; None: refined once."""

    @property
    def share(self) -> str:
        """Excess in words, such as 'about 60 % too stiff'."""
        is_sure = self.difference is not None and self.difference <= AGREEMENT
        text = "about" if is_sure else "at least"
        if self.excess >= 1.0:
            return f"{text} {1.0 + self.excess:.2g} times as stiff as its material"
        if self.excess > -0.005:
            return f"{text} {percent(self.excess)} too stiff"
        return f"about {percent(-self.excess)} too soft"


@dataclass(frozen=True)
class MeshEstimate:
    """Excess of a body's stiffness by its mesh."""

    body: str
    """Path of the body's state."""
    element: str = ""
    """Class of its force field; the first one if there are several."""
    nodes: int = 0
    cells: int = 0
    """Number of tetrahedra or hexahedra."""
    edge_length: float = 0.0
    """Mean length of the edges [length]."""
    loads: list[LoadEstimate] = field(default_factory=list)
    """Estimate for each load."""
    edge_length_for_aim: float | None = None
    """Mean edge length of the present element that leaves 15 % under each load [length]; None: not
    estimated, or it is reached."""
    reason: str = ""
    """Reason why there is no estimate, or ""."""

    @property
    def worst(self) -> LoadEstimate | None:
        """Estimate for the load with the largest excess, or None without any."""
        return max(self.loads, key=lambda load: load.excess, default=None)

    @property
    def warning(self) -> str:
        """Return a line for the end of a run, or '' if the excess is not worth one."""
        worst = self.worst
        if worst is None or worst.excess <= NOTED_EXCESS:
            return ""
        return f"{self.sentence().removesuffix('.')}, by its mesh: see `softctl mesh error`."

    def sentence(self, unit: str = "") -> str:
        """Return the estimate as a sentence, with what would be better.

        Args:
            unit: Unit of length.
        """
        worst = self.worst
        if worst is None:
            return f"'{self.body}': the error of its mesh was not estimated: {self.reason}."
        cause = worst.load if worst.load in (WEIGHT, SOFTEST_MOTION) else f"'{worst.load}'"
        verb = "in" if worst.load == SOFTEST_MOTION else "under"
        text = f"'{self.body}' is {worst.share} {verb} {cause}"
        remedies = list(_remedies(self, worst, unit)) if worst.excess > NOTED_EXCESS else []
        return f"{text}: {'; '.join(remedies)}." if remedies else f"{text}."


def _remedies(error: MeshEstimate, worst: LoadEstimate, unit: str) -> Iterator[str]:
    if worst.without_locking is not None:
        yield f"add_elasticity on this mesh leaves {percent(worst.without_locking)}"
    if worst.quadratic is not None:
        yield f"10-node tetrahedra (`softctl mesh quadratic`) leave {percent(worst.quadratic)}"
    if error.edge_length_for_aim is not None:
        length = f"{error.edge_length_for_aim:.2g}{f' {unit}' if unit else ''}"
        yield (
            f"{error.element} leaves {percent(AIM)} with edges of {length} instead of "
            f"{error.edge_length:.2g}"
        )


def percent(value: float) -> str:
    """Return a text such as '60 %', without a sign."""
    return f"{abs(round(100.0 * value)):.0f} %"
