"""Quality of a mesh of tetrahedra: numbers with the limits of docs/how-to/make-a-mesh.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sofa_softctl.runtime.mesh.description import MeshDescription

Grade = Literal["good", "fair", "bad"]
ANGLE_MIN, ANGLE_MAX, JACOBIAN, ASPECT, THIN = (
    *("least dihedral angle", "greatest dihedral angle"),
    *("least scaled Jacobian", "greatest aspect ratio", "fraction one element thick"),
)
LIMITS = {
    ANGLE_MIN: (10.0, 5.0),
    ANGLE_MAX: (160.0, 175.0),
    JACOBIAN: (0.1, 0.05),
    ASPECT: (4.0, 10.0),
    THIN: (0.1, 0.3),
}
"""Value up to which a number is good, and value beyond which it is bad; angles in degrees."""


@dataclass(frozen=True)
class Measure:
    """Number that tells the quality of a mesh, with its limits."""

    value: float
    """The number: an angle [degrees], or a ratio [-]."""
    good: float
    """Value up to which it is good."""
    bad: float
    """Value beyond which it is bad, on the other side of `good`."""

    @property
    def grade(self) -> Grade:
        """Grade of the number; one between the limits is fair."""
        sign = 1.0 if self.bad > self.good else -1.0
        if sign * (self.value - self.bad) > 0.0:
            return "bad"
        return "fair" if sign * (self.value - self.good) > 0.0 else "good"

    @property
    def side(self) -> str:
        """Side of the limits on which numbers are worse: "above" or "below"."""
        return "above" if self.bad > self.good else "below"

    @property
    def limit(self) -> float:
        """Limit that the number misses, or that of good numbers if it is good."""
        return self.bad if self.grade == "bad" else self.good


def measures(mesh: MeshDescription) -> dict[str, Measure]:
    """Return the measures of a mesh by name; none without tetrahedra that have a volume."""
    shapes = mesh.shapes
    if shapes is None:
        return {}
    (least, greatest), (jacobian, _) = shapes.dihedral_angle, shapes.scaled_jacobian
    values = (least, greatest, jacobian, shapes.aspect_ratio[1], mesh.thin_fraction)
    return {
        name: Measure(value, *limits)
        for (name, limits), value in zip(LIMITS.items(), values, strict=True)
    }
