"""Inspector of the graph: Data of a component, and the nodes that it is about."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from sofa_softctl.errors import UsageError
from sofa_softctl.scene.graph.nodes import own_state
from sofa_softctl.scene.session.session import Session
from sofa_softctl.view.browser.markdown import as_plain
from sofa_softctl.view.browser.stage import Stage, rgb

NONE = "(none)"
"""Choice of no component."""
VALUE_LENGTH = 60
"""Number of characters of a value that are shown."""
POINT_SIZE = 0.012
"""Size of a marked node by the size of the scene [-]."""
MARK = "#d55e00"
"""Color of marked nodes."""
OF_ALL = ("name", "printLog", "tags", "bbox", "componentState", "listening")
"""Data of every component, which are left out."""


class Inspector:
    """Choice of a component, a table of its Data, a field to set one, and marks of its nodes.

    Args:
        server: Server of viser.
        stage: Objects of the page.
        session: The session.
        request: Function that has something done between two steps.
    """

    def __init__(
        self,
        server: Any,
        stage: Stage,
        session: Session,
        request: Callable[[Callable[[], object]], None],
    ) -> None:
        self._stage, self._session = stage, session
        self._components = {
            f"{component.getPathName()} ({component.getClassName()})": component
            for node in session.nodes()
            for component in node.objects
        }
        self._component: Any = None
        self._marks = server.scene.add_point_cloud(
            "/marked nodes", np.zeros((1, 3)), rgb(MARK), point_size=POINT_SIZE,
            point_shape="circle", visible=False,
        )  # fmt: skip
        gui = server.gui
        self._choice = gui.add_dropdown("Component", (NONE, *self._components), initial_value=NONE)
        self._name = gui.add_text("Data", "", hint="Name of a Data of this component")
        self._value = gui.add_text("Value", "", hint="As in Python: 3.5 or [1, 2, 3]")
        button = gui.add_button("Set")
        self._table = gui.add_markdown("")
        self._choice.on_update(lambda event: request(self.choose))
        button.on_click(lambda event: request(self.set_value))

    def choose(self) -> None:
        """Show the component that is chosen."""
        self._component = self._components.get(str(self._choice.value))
        self._table.content = "" if self._component is None else table_of(self._component)
        self.show()

    def set_value(self) -> str:
        """Set a Data of the component to a value; return what was done.

        Raises:
            UsageError: No component is chosen, or it has no such Data.
        """
        name, text = str(self._name.value).strip(), str(self._value.value)
        data = None if self._component is None else self._component.findData(name)
        if data is None:
            raise UsageError(f"Choose a component, and one of its Data. Got: '{name}'")
        known = len(self._session.warnings)
        data.value = text if "string" in data.typeName() else _parse(text)
        self.choose()
        return " ".join([f"{name} = {begin_of(data)}", *self._session.warnings[known:]])

    def show(self) -> None:
        """Mark the nodes that the component is about, where they are now."""
        points = np.empty((0, 3)) if self._component is None else nodes_about(self._component)
        if len(points):
            self._marks.points = self._stage.to_page(points)
        if self._marks.visible != bool(len(points)):
            self._marks.visible = bool(len(points))


def _parse(text: str) -> Any:
    """Return a value as Python writes it, or the text itself: some Data take a choice."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def table_of(component: Any) -> str:
    """Return the Data of a component in Markdown: name, value and help of each."""
    rows = [
        f"**{data.getName()}** = {as_plain(begin_of(data))}\\\n{as_plain(data.getHelp())}"
        for data in component.getDataFields()
        if data.getName() not in OF_ALL
    ]
    return "\n\n".join(rows)


def begin_of(data: Any) -> str:
    """Return the value of a Data as text, or its begin."""
    text = str(data.getValueString())
    return text if len(text) <= VALUE_LENGTH else f"{text[:VALUE_LENGTH]} ..."


def nodes_about(component: Any) -> np.ndarray:
    """Return the nodes that a component names by `indices`, else those of its state, (n, 3)."""
    context = component.getContext()
    state = None if context is None else own_state(context)
    if state is None:
        return np.empty((0, 3))
    points = np.asarray(state.position.value, dtype=float)[:, :3]
    indices = component.findData("indices")
    if indices is None:
        return np.array(points) if component is state else np.empty((0, 3))
    numbers = np.ravel(np.asarray(indices.value)).astype(int)
    return points[numbers[(numbers >= 0) & (numbers < len(points))]]
