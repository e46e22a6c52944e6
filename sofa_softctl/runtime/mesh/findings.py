"""Faults of a mesh, with advice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sofa_softctl.runtime.mesh.description import MeshDescription, QuadraticDescription
from sofa_softctl.runtime.mesh.quality import ANGLE_MIN, THIN, measures

PAGE = "docs/how-to/make-a-mesh.md"

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Fault of a mesh."""

    level: Level
    """"error": the mesh cannot be simulated or filled; "warning": results are worse."""
    text: str
    """Description of the fault and advice."""


def findings(mesh: MeshDescription) -> list[Finding]:
    """Return the faults of a mesh, errors first."""
    special = _tetrahedron_faults if mesh.elements["tetrahedra"] else _surface_faults
    faults = [Finding(level, text) for level, text in (*special(mesh), *_point_faults(mesh))]
    return sorted(faults, key=lambda fault: fault.level)  # "error" comes before "warning"


def likely_unit(mesh: MeshDescription) -> str | None:
    """Return the only unit of length that makes it a robot of 5 mm to 5 m, or None."""
    if 5.0 <= mesh.diagonal <= 5000.0:
        return "mm"
    return "m" if 0.005 <= mesh.diagonal < 5.0 else None


def _tetrahedron_faults(mesh: MeshDescription) -> Iterator[tuple[Level, str]]:
    count, again = mesh.elements["tetrahedra"], "Mesh the surface again."
    if mesh.flat:
        yield "error", f"{mesh.flat} of {count} tetrahedra have no volume. {again}"
    if mesh.repeated:
        yield "error", f"{mesh.repeated} of {count} tetrahedra are in the file twice. {again}"
    if mesh.overlapping:
        yield (
            "error",
            f"tetrahedra overlap at {mesh.overlapping} faces: some are turned inside out, or two "
            f"meshes were put into one file. {again}",
        )
    if mesh.reversed:
        yield (
            "warning",
            f"{mesh.reversed} of {count} tetrahedra have a negative volume: their points are in "
            "the other order. Forces are the same, but normals of the surface that "
            "Tetra2TriangleTopologicalMapping makes are turned. Swap two columns of the elements.",
        )
    if mesh.quadratic is not None:
        yield from _quadratic_faults(mesh.quadratic)
    grades = measures(mesh)
    if ANGLE_MIN in grades and grades[ANGLE_MIN].grade == "bad":
        angle = grades[ANGLE_MIN]
        yield (
            "warning",
            f"the smallest dihedral angle is {angle.value:.2g} degrees: slivers "
            f"below {angle.bad:g} degrees are far too stiff. Let the mesher optimise, or take a "
            "finer surface there.",
        )
    if THIN in grades and grades[THIN].grade == "bad":
        yield (
            "warning",
            f"{mesh.thin_fraction:.0%} of the volume is in tetrahedra with all nodes on the surface"
            ": walls one element thick are several times too stiff in bending. Take shorter edges "
            f"({PAGE}).",
        )
    if mesh.skin.crowded_edges and not (mesh.flat or mesh.repeated or mesh.overlapping):
        yield (
            "warning",
            f"parts touch along {mesh.skin.crowded_edges} edges only, which are hinges. Unite the "
            "bodies in CAD, or keep a gap.",
        )
    if mesh.pieces > 1:
        yield (
            "warning",
            f"{mesh.pieces} parts share no node: they move apart. Unite the bodies before meshing, "
            "unless this is meant.",
        )


def _quadratic_faults(quadratic: QuadraticDescription) -> Iterator[tuple[Level, str]]:
    if quadratic.loose_nodes:
        yield (
            "error",
            f"{quadratic.tetrahedra} tetrahedra have 10 nodes. A scene takes their corners only, "
            f"and {quadratic.loose_nodes} nodes in the middle of edges belong to no element there. "
            f"`softctl mesh quadratic` writes a mesh for all nodes ({PAGE}#10-node-tetrahedra).",
        )
    if quadratic.far_nodes:
        yield (
            "error",
            f"{quadratic.far_nodes} nodes are more than a quarter of the edge from its middle: "
            "shape functions are not unique there. Take shorter edges where the surface is curved.",
        )
    if quadratic.folded:
        yield (
            "error",
            f"{quadratic.folded} of {quadratic.tetrahedra} 10-node tetrahedra are folded: their "
            "Jacobian changes sign. Move their middle nodes towards the middle of the edge.",
        )


def _surface_faults(mesh: MeshDescription) -> Iterator[tuple[Level, str]]:
    skin = mesh.skin
    if mesh.elements["hexahedra"]:
        yield (
            "error",
            "there are hexahedra only; force fields need tetrahedra. Mesh again with these.",
        )
    elif not len(skin.triangles):
        yield "error", "there are neither tetrahedra nor a surface. Export the surface of the body."
    if skin.open_edges:
        yield (
            "error",
            f"the surface is open: {skin.open_edges} edges belong to one triangle only. Close the "
            "holes in CAD, or merge points when exporting.",
        )
    if skin.crowded_edges:
        yield (
            "error",
            f"{skin.crowded_edges} edges belong to three triangles or more: surfaces meet inside "
            "the body. Unite the bodies in CAD.",
        )
    if skin.twisted_edges:
        yield (
            "error",
            f"triangles are wound against each other at {skin.twisted_edges} edges: inside and "
            "outside are not defined. Make normals consistent when exporting.",
        )
    if mesh.repeated:
        yield "error", f"{mesh.repeated} triangles are in the file twice. Export it again."
    if skin.is_closed and skin.volume < 0.0:
        yield (
            "warning",
            "the surface is wound inwards: its volume is negative. Flip its normals; those of a "
            "cavity face into the cavity.",
        )


def _point_faults(mesh: MeshDescription) -> Iterator[tuple[Level, str]]:
    if mesh.unused:
        yield (
            "error" if mesh.elements["tetrahedra"] else "warning",
            f"{mesh.unused} of {mesh.nodes} points belong to no "
            f"{'tetrahedron' if mesh.elements['tetrahedra'] else 'element'}: they would fall "
            "freely. Remove them, or mesh again.",
        )
    if mesh.coincident:
        yield (
            "warning",
            f"{mesh.coincident} points lie where another one lies: elements are not joined there. "
            "Merge points, and mesh again.",
        )
