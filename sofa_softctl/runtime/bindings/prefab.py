"""Prefabs: nodes that build their content from parameters."""

from __future__ import annotations

from typing import Any

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message


class RawPrefab(Node):
    """Node with parameters; ignores keyword arguments that are not Data."""

    def __init__(self, *args: Any, **values: Any) -> None:
        self._parameters: list[Data] = []
        self._built = False
        super().__init__(**{k: value for k, value in values.items() if k in self.data_names})

    @classmethod
    def getClassName(cls) -> str:
        """Return "Prefab" for every prefab; `prefabname` distinguishes them."""
        return "Prefab"

    def addPrefabParameter(self, name: str, help: str, type: str, default: Any = None) -> Data:
        """Add a Data from which the prefab is built; set a Data of every node, such as `name`."""
        if name in self._data:
            parameter = self._data[name]
            if default is not None:
                parameter.assign(default, scene_line())
            return parameter
        data = self.addData(name=name, value=default, help=help, type=type)
        self._parameters.append(data)
        return data

    def init(self) -> None:
        """Build the prefab; called once its parameters exist."""

    def data_changed(self, data: Data) -> None:
        """Raise a SceneError if a parameter changes while the node is not empty."""
        super().data_changed(data)
        has_content = len(self.children) + len(self.objects) > 0
        if self._built and has_content and data in self._parameters:
            raise SceneError(
                f"{describe(scene_line())}: {self.describe()} is built already, so its parameter "
                f"'{data.getName()}' cannot change. Give it when the prefab is made. (SOFA would "
                "empty the node.)"
            )


class Prefab(RawPrefab):
    """SOFA's Sofa.Prefab.

    A subclass declares its parameters and builds itself in `init`:

        class Leg(Sofa.Prefab):
            prefabParameters = [{"name": "n", "type": "int", "help": "Toes.", "default": 5}]

            def init(self):
                for i in range(self.n.value):
                    self.addChild(f"toe{i}")

    `prefabData` holds Data that may change, in the same way. `parent=node` or `parents=[node, ...]`
    adds the prefab there before it is built, so that links in its parameters resolve.
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
            line = describe(scene_line())
            message.warn_deprecated(self, f"{line}: 'properties' is now 'prefabParameters'.")
        for spec in (*self.prefabParameters, *self.properties):
            value = values.get(spec["name"], spec.get("default"))
            self.addPrefabParameter(spec["name"], spec.get("help", ""), spec["type"], value)
        for spec in self.prefabData:
            value = values.get(spec["name"], spec.get("default"))
            help = spec.get("help", "")
            self.addData(spec["name"], value=value, type=spec["type"], help=help)
        self.init()
        self._built = True
