"""Errors of a scene's meshes on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from sofa_softctl.scene.mesh_error.result import NOTED_EXCESS, MeshEstimate, percent
from sofa_softctl.view.terminal.table import Table, make_console


def show_mesh_errors(estimates: Sequence[MeshEstimate], unit: str) -> None:
    """Print a table and a sentence for each body.

    Args:
        estimates: Estimates of the bodies.
        unit: Unit of length, or "".
    """
    console = make_console()
    if not estimates:
        console.print("The scene has no body of tetrahedra or hexahedra.")
    for estimate in estimates:
        if estimate.loads:
            console.print(_table(estimate, unit))
        worst = estimate.worst
        is_doubtful = worst is None or worst.excess > NOTED_EXCESS
        text = escape(estimate.sentence(unit))
        console.print(f"[yellow]{text}[/]" if is_doubtful else text, highlight=False)


def _table(estimate: MeshEstimate, unit: str) -> Table:
    edge = f"{estimate.edge_length:.3g}{f' {unit}' if unit else ''}"
    table = Table(
        title=escape(
            f"{estimate.body}: {estimate.nodes} nodes, {estimate.cells} {estimate.element}, edges "
            f"of {edge} (mean)"
        ),
        caption="Stiffness above that of the material; negative: below",
    )
    table.add_column("load")
    for name in (estimate.element, "add_elasticity", "10-node", "2nd refinement"):
        table.add_column(name, justify="right")
    for load in estimate.loads:
        values = (load.excess, load.without_locking, load.quadratic, load.difference)
        table.add_row(escape(load.load), *map(_text, values))
    return table


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{'-' if round(100.0 * value) < 0 else ''}{percent(value)}"
