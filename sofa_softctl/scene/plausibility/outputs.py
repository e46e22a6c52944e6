"""Components that write files, and write none, or always the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.graph.nodes import controllers_of, nodes_of, own_state
from sofa_softctl.scene.plausibility.bodies import StartWarning, at


def output_warnings(root: Any) -> list[StartWarning]:
    """Warn of monitors of nothing, exporters of no step, and of points that stay."""
    components = [writer for node in nodes_of(root) for writer in node.objects]
    is_scripted = bool(controllers_of(find_backend().Sofa, root))  # which may write by itself
    return [
        StartWarning(writer, f"{at(writer)} {text}")
        for writer in components
        for text in (*([] if is_scripted else _of_nothing(writer)), *_of_mesh(writer))
    ]


def _of_nothing(writer: Any) -> Iterator[str]:
    kind = writer.getClassName()
    if kind == "Monitor" and writer.fileName.isSet():
        exports = (writer.ExportPositions, writer.ExportVelocities, writer.ExportForces)
        if not any(data.value for data in exports):
            yield "writes nothing: give ExportPositions=True, or that of velocities or forces."
    elif kind.endswith("Exporter") and (interval := writer.findData("exportEveryNumberOfSteps")):
        if writer.enable.value and not (
            interval.value or writer.exportAtBegin.value or writer.exportAtEnd.value
        ):
            yield "writes no file: give exportEveryNumberOfSteps, or exportAtEnd=True."


def _of_mesh(writer: Any) -> Iterator[str]:
    position = writer.findData("position") if writer.getClassName().endswith("Exporter") else None
    source = None if position is None else position.getParent()
    owner, node = None if source is None else source.getOwner(), writer.getContext()
    if position is not None and writer.getClassName() == "STLExporter" and not position.isSet():
        kinds = {item.getClassName(): item for item in node.objects}
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
