"""Elements of XML scenes that stand for several components, such as <BoxConstraint>.

In SOFA they are files: an element of class X that no component has is <include> of Objects/X.xml.
"""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.runtime.core import factory
from sofa_softctl.runtime.helper.repository import path_near

Parts = dict[str, dict[str, str]]
"""Values of each component by its class; of the element's attributes those count that are here."""

_IMPLICIT: Parts = {
    "EulerImplicitSolver": {"rayleighStiffness": "0.1", "rayleighMass": "0.1", "vdamping": "0"},
    "CGLinearSolver": {"iterations": "25", "tolerance": "1e-5", "threshold": "1e-5"},
}
_FIXED: Parts = {"FixedProjectiveConstraint": {"indices": "@[-1].indices"}}
KNOWN: dict[str, Parts] = {
    "BoxConstraint": {
        "BoxROI": {"name": "box_roi", "box": "0 0 0 1 1 1", "drawBoxes": "0"},
        **_FIXED,
    },
    "PlaneConstraint": {
        "PlaneROI": {"name": "box_roi", "plane": "-4 3 0 1 2 1 0 0 1 2", "drawSize": "0"},
        **_FIXED,
    },
    "CGImplicit": _IMPLICIT,
    "CGImplicitSolver": _IMPLICIT,
}
"""Those of SOFA's own files that its examples use, for when no SOFA is there."""


def file_of(kind: str, scene: Path) -> Path | None:
    """The file that an element of that class includes, beside the scene or where the data are."""
    if not kind.isidentifier() or factory.find(kind) is not None:
        return None
    found = path_near(f"Objects/{kind}.xml", scene)
    return found if found.is_file() else None


def parts_of(kind: str) -> Parts:
    """The components that an element of that class stands for; none where it is one."""
    return {} if factory.find(kind) is not None else KNOWN.get(kind, {})
