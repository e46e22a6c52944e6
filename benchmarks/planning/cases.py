"""Perturbed cases of the studies of planning, so that figures have a spread."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

FINE = (11, 11, 42)
"""Nodes along x, y and z of the arm's finer mesh: 5,082."""


@dataclass(frozen=True)
class Case:
    """A variation of the arm, its goal, its mesh, or the places of fresh points."""

    name: str
    young_modulus: float = 300.0
    """[kPa]."""
    size: float = 1.0
    """Radius of the circle, over that of the study [-]."""
    center: tuple[float, float] = (0.0, 0.0)
    """Middle of the circle [mm]."""
    nodes: tuple[int, int, int] | None = None
    """Nodes of the mesh along x, y and z; None: that of the scene."""
    seed: int = 0
    """Of the fresh points."""


CASES = (
    Case("as it is"),
    Case("softer", young_modulus=285.0, seed=1),
    Case("smaller circle", size=0.9, seed=2),
    Case("circle aside", center=(4.0, -3.0), seed=3),
    Case("other mesh", nodes=(5, 5, 17), seed=4),
)
"""The cases of the tables."""
FINE_CASE = Case("5,082 nodes", nodes=FINE)
"""The arm with its finer mesh."""


@contextmanager
def mesh_of(folder: Path, nodes: tuple[int, int, int] | None) -> Iterator[str]:
    """The mesh of the arm with some nodes, as a file that is there while the context is open.

    Args:
        folder: Where the scenes are.
        nodes: Along x, y and z; None: the scene's own mesh.
    """
    if nodes is None:
        yield "arm.vtk"
        return
    with TemporaryDirectory() as kept:
        file = Path(kept) / "arm.vtk"
        script = folder / "meshes" / "arm.py"
        command = [sys.executable, str(script), "--nodes", *map(str, nodes), "--out", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield str(file)
