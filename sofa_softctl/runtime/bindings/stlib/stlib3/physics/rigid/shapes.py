"""Rigid cubes, spheres and floors.

Their meshes are SOFA's 'mesh/cube.obj', 'mesh/ball.obj' and 'mesh/floor.obj'. Without SOFA the
runtime computes the cube, and ball and floor of this package have the same points.
"""

from __future__ import annotations

from typing import Any

import SofaRuntime
from stlib3.physics.rigid.RigidObject import RigidObject

from sofa_softctl.runtime.bindings.stlib.shapes import MESHES


def Cube(node: Any, **values: Any) -> Any:
    """Add a rigid cube of side 2; see RigidObject."""
    return _add(node, "Cube", "mesh/cube.obj", values)


def Sphere(node: Any, **values: Any) -> Any:
    """Add a rigid sphere of radius 1; see RigidObject."""
    return _add(node, "Sphere", "mesh/ball.obj", values)


def Floor(node: Any, **values: Any) -> Any:
    """Add a rigid floor, 149.3 wide and 4 thick, its top at y = -1.33; see RigidObject."""
    return _add(node, "Floor", "mesh/floor.obj", values)


def _add(node: Any, name: str, mesh: str, values: dict[str, Any]) -> Any:
    if MESHES not in SofaRuntime.DataRepository.getPaths():
        SofaRuntime.DataRepository.addLastPath(MESHES)
    values.setdefault("name", name)
    return RigidObject(parent=node, surfaceMeshFileName=mesh, **values)
