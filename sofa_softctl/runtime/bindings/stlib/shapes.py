"""Files of our surface meshes in place of SOFA's: a ball and a floor.

A real SOFA reads them, too. `python -m sofa_softctl.runtime.bindings.stlib.shapes` writes them.
"""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.runtime.mesh.made import made_mesh

MESHES = str(Path(__file__).parent / "meshes")
"""Folder that contains 'mesh/ball.obj'."""


def write(name: str) -> None:
    """Write an OBJ file of a mesh that is made by code."""
    mesh = made_mesh(name)
    assert mesh is not None
    faces = [*mesh.triangles.tolist(), *mesh.quads.tolist()]
    lines = [f"# {name} of sofa_softctl: {len(mesh.positions)} points, {len(faces)} faces"]
    points = mesh.positions + 0.0  # no -0
    lines += ["v " + " ".join(f"{number:.9g}" for number in point) for point in points]
    lines += ["f " + " ".join(str(point + 1) for point in face) for face in faces]
    Path(MESHES, name).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write("mesh/ball.obj")
    write("mesh/floor.obj")
