"""Surface that a window shows."""

from __future__ import annotations

from typing import Any

import Sofa.Core
from splib3.loader.by_suffix import LOADERS


class VisualModel(Sofa.Prefab):  # type: ignore[misc]
    """Node with a surface mesh and an OglModel; an added mapping moves it."""

    prefabParameters = [
        {"name": "visualMeshPath", "type": "string", "help": "Surface mesh file.", "default": ""},
        {
            "name": "translation",
            "type": "Vec3d",
            "help": "Translation.",
            "default": [0.0, 0.0, 0.0],
        },
        {
            "name": "rotation",
            "type": "Vec3d",
            "help": "Angles about x, y and z [degree].",
            "default": [0.0, 0.0, 0.0],
        },
        {"name": "scale", "type": "Vec3d", "help": "Scale.", "default": [1.0, 1.0, 1.0]},
        {
            "name": "color",
            "type": "Vec4d",
            "help": "Red, green, blue and opacity, 0 to 1.",
            "default": [1.0, 1.0, 1.0, 1.0],
        },
    ]

    def __init__(self, *args: Any, **values: Any) -> None:
        Sofa.Prefab.__init__(self, *args, **values)

    def init(self) -> None:
        """Add the loader and the visual model."""
        self.addObject(
            "RequiredPlugin",
            pluginName=["Sofa.GL.Component.Rendering3D", "Sofa.Component.IO.Mesh"],
        )
        path = self.visualMeshPath.value
        suffix = next((end for end in (".stl", ".obj") if path.endswith(end)), None)
        if suffix is None:
            Sofa.msg_error(self, f"A visual model is made of .stl or .obj files, got '{path}'.")
            return
        self.addObject(LOADERS[suffix], name="loader", filename=path)
        self.addObject(
            "OglModel",
            name="OglModel",
            src="@loader",
            rotation=list(self.rotation.value),
            translation=list(self.translation.value),
            scale3d=list(self.scale.value),
            color=list(self.color.value),
            updateNormals=False,
        )

    def showGrid(self, nbSubdiv: int = 10, size: float = 1000) -> None:
        """Show a grid."""
        self.addObject("VisualGrid", nbSubdiv=nbSubdiv, size=size)
