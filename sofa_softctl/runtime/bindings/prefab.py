"""Prefabs: nodes that build what is in them from parameters."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message


class RawPrefab(Node):
    """A node with parameters. Keyword arguments that are no Data are ignored."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._parameters: list[Data] = []
        self._built = False
        known = {name: value for name, value in values.items() if name in self.data_names}
        super().__init__(**known)

    @classmethod
    def getClassName(cls) -> str:
        """The same for every prefab; `prefabname` distinguishes them."""
        return "Prefab"

    def addPrefabParameter(self, name: str, help: str, type: str, default: Any = None) -> Data:
        """Add a Data from which the prefab is built; one of every node, such as `name`, is set."""
        if name in self._data:
            found = self._data[name]
            if default is not None:
                found.assign(default, scene_line())
            return found
        data = self.addData(name=name, value=default, help=help, type=type)
        self._parameters.append(data)
        return data

    def init(self) -> None:
        """Build the prefab; called once its parameters are there."""

    def data_changed(self, data: Data) -> None:
        """See Base; a parameter may change while the node is empty."""
        super().data_changed(data)
        holds = len(self.children) + len(self.objects) > 0
        if self._built and holds and data in self._parameters:
            raise SceneError(
                f"{describe(scene_line())}: {self.describe()} is built already, so its parameter "
                f"'{data.getName()}' cannot change. Give it when the prefab is made. (SOFA would "
                "empty the node.)"
            )


class Prefab(RawPrefab):
    """SOFA's Sofa.Prefab.

    A subclass says what it is made from, and builds itself in `init`:

        class Leg(Sofa.Prefab):
            prefabParameters = [{"name": "n", "type": "int", "help": "Toes.", "default": 5}]

            def init(self):
                for i in range(self.n.value):
                    self.addChild(f"toe{i}")

    `prefabData` holds Data that may change, in the same way. `parent=node` or `parents=[node, ...]`
    adds the prefab there before it is built, so that links in its parameters can be followed.
    """

    prefabParameters: list[dict[str, Any]] = []
    properties: list[dict[str, Any]] = []
    """Old name of `prefabParameters`."""
    prefabData: list[dict[str, Any]] = []

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **{"name": type(self).__name__, **values})
        self.addData("prefabname", value=type(self).__name__, type="string", help="Its class.")
        self.addData("docstring", value=type(self).__doc__ or "", type="string", help="Its text.")
        for parent in [values["parent"]] if "parent" in values else values.get("parents", []):
            parent.addChild(self)
        if self.properties:
            where = describe(scene_line())
            message.deprecated(self, f"{where}: 'properties' is now 'prefabParameters'.")
        for entry in (*self.prefabParameters, *self.properties):
            given = values.get(entry["name"], entry.get("default"))
            self.addPrefabParameter(entry["name"], entry.get("help", ""), entry["type"], given)
        for entry in self.prefabData:
            given = values.get(entry["name"], entry.get("default"))
            help = entry.get("help", "")
            self.addData(entry["name"], value=given, type=entry["type"], help=help)
        self.init()
        self._built = True
