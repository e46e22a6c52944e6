"""Numbers and faults of a mesh on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.markup import escape

from sofa_softctl.runtime.mesh.quality import (
    ANGLE_MAX,
    ANGLE_MIN,
    ASPECT,
    JACOBIAN,
    THIN,
    measures,
)
from sofa_softctl.view.terminal.table import Table, make_console

MEASURES = {
    "dihedral angles": (ANGLE_MIN, ANGLE_MAX),
    "scaled Jacobian": (JACOBIAN,),
    "aspect ratio": (ASPECT,),
    "one element thick": (THIN,),
}
"""Measures of quality that a line shows."""
COLORS = {"bad": "bold red", "fair": "yellow", "good": "green"}
SIZES = {"mm": 1e-3, "m": 1.0}


def show_mesh(name: str, mesh: Any, unit: str | None, findings: list[Any]) -> None:
    """Print a mesh as a table, then its findings."""
    console = make_console()
    console.print(escape(name), style="bold", highlight=False, soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for label, text in _rows(mesh, unit):
        table.add_row(label, escape(text), _grade_text(mesh, label))
    console.print(table, highlight=False)
    for finding in findings:
        style = "bold red" if finding.level == "error" else "yellow"
        text = f"[{style}]{finding.level}:[/] {escape(finding.text)}"
        console.print(text, highlight=False, soft_wrap=True)


def _rows(mesh: Any, unit: str | None) -> Iterator[tuple[str, str]]:
    yield "nodes", str(mesh.nodes)
    yield from ((kind, str(count)) for kind, count in mesh.elements.items() if count)
    if mesh.quadratic is not None:
        yield "10-node tetrahedra", _describe_quadratic(mesh.quadratic)
    size = " x ".join(f"{b - a:.4g}" for a, b in zip(mesh.lower, mesh.upper, strict=True))
    yield "size", f"{size}, {_guess(mesh.diagonal, unit)}"
    yield "from, to", f"{_point(mesh.lower)} to {_point(mesh.upper)}"
    yield "volume", f"{mesh.volume:.5g}"
    yield "surface", f"{len(mesh.skin.triangles)} triangles, {_closure(mesh.skin)}"
    yield "parts", str(mesh.pieces)
    shapes = mesh.shapes
    if shapes is not None:
        low, mean, high = shapes.edge_length
        yield "edge lengths", f"{low:.3g} to {high:.3g}, mean {mean:.3g}"
        low, high = shapes.dihedral_angle
        yield "dihedral angles", f"{low:.1f} to {high:.1f} degrees (regular: 70.5)"
        low, mean = shapes.scaled_jacobian
        yield "scaled Jacobian", f"least {low:.3f}, mean {mean:.3f} (regular: 1, flat: 0)"
        mean, high = shapes.aspect_ratio
        yield "aspect ratio", f"greatest {high:.3g}, mean {mean:.3g} (regular: 1)"
        yield "one element thick", f"{mesh.thin_fraction:.0%} of the volume"


def _grade_text(mesh: Any, label: str) -> str:
    """Return the worst grade of a line's numbers, with the limit that they miss."""
    by_name = measures(mesh)
    shown = [by_name[name] for name in MEASURES.get(label, ()) if name in by_name]
    for measure in sorted(shown, key=lambda measure: list(COLORS).index(measure.grade)):
        limit = f"{measure.limit:.0%}" if label == "one element thick" else f"{measure.limit:g}"
        text = "" if measure.grade == "good" else f": {measure.side} {limit}"
        return f"[{COLORS[measure.grade]}]{measure.grade}[/]{text}"
    return ""


def _describe_quadratic(quadratic: Any) -> str:
    form = "of which scenes take the corners" if quadratic.loose_nodes else "in eighths here"
    offset = f"{quadratic.offset_max:.1%} of the edge"
    return f"{quadratic.tetrahedra}, {form}; nodes at most {offset} from its middle"


def _guess(diagonal: float, unit: str | None) -> str:
    if unit is None:
        return "neither mm nor m for a robot of 5 mm to 5 m: which unit?"
    return f"likely {unit} (the diagonal is then {diagonal * SIZES[unit]:.3g} m)"


def _point(values: tuple[float, ...]) -> str:
    return f"({', '.join(f'{value:.5g}' for value in values)})"


def _closure(skin: Any) -> str:
    if not len(skin.triangles):
        return "none"
    return "closed" if skin.is_closed else "not closed"
