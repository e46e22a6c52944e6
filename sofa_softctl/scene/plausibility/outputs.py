"""Components that write files, and write none, or always the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control.steps import controllers_of
from sofa_softctl.scene.graph.nodes import nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at


def output_warnings(root: Any) -> list[StartWarning]:
    """Warn of monitors of nothing, exporters of no step, and of points that stay."""
    entries = [entry for node in nodes_of(root) for entry in node.objects]
    is_scripted = bool(controllers_of(find_backend().Sofa, root))  # which may write by itself
    return [
        StartWarning(entry, f"{at(entry)} {text}")
        for entry in entries
        for text in (*([] if is_scripted else _of_nothing(entry)), *_of_mesh(entry))
    ]


def _of_nothing(entry: Any) -> Iterator[str]:
    kind = entry.getClassName()
    if kind == "Monitor" and entry.fileName.isSet():
        exports = (entry.ExportPositions, entry.ExportVelocities, entry.ExportForces)
        if not any(data.value for data in exports):
            yield "writes nothing: give ExportPositions=True, or that of velocities or forces."
    elif kind.endswith("Exporter") and (every := entry.findData("exportEveryNumberOfSteps")):
        if entry.enable.value and not (
            every.value or entry.exportAtBegin.value or entry.exportAtEnd.value
        ):
            yield "writes no file: give exportEveryNumberOfSteps, or exportAtEnd=True."


def _of_mesh(entry: Any) -> Iterator[str]:
    position = entry.findData("position") if entry.getClassName().endswith("Exporter") else None
    source = None if position is None else position.getParent()
    owner, node = None if source is None else source.getOwner(), entry.getContext()
    if position is not None and entry.getClassName() == "STLExporter" and not position.isSet():
        kinds = {entry.getClassName(): entry for entry in node.objects}
        names = [] if "OglModel" in kinds else [kind for kind in kinds if "Topology" in kind]
        owner = kinds[names[0]] if names else None
    state = own_state(node)
    if owner is None or state is None:
        return
    if "Topology" in owner.getClassName() or "Loader" in owner.getClassName():
        yield (
            f"writes the points of '{owner.getPathName()}', which do not move: link position to "
            f"those of the state, '{state.getPathName()}'."
        )
