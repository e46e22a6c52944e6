"""Components that are accepted and checked but have no effect without a display."""

from __future__ import annotations

from typing import ClassVar

from sofa_softctl.runtime.core.component import Component
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Color,
    Elements,
    Int,
    Real,
    Reals,
    Text,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper import repository


class Inert(Component):
    """Accepted and checked, without effect."""

    category: ClassVar[str] = "inert"


class RequiredPlugin(Inert):
    """Names a plugin of SOFA that the scene needs there."""

    pluginName = Text("", "Plugin, or several.")

    def init(self) -> None:
        """Nothing to load."""


class AddDataRepository(Inert):
    """A folder with data."""

    path = Text("", "Folder.")

    def added(self) -> None:
        """Let loaders look there."""
        repository.data.addLastPath(self.path.get())


class VisualStyle(Inert):
    """What a GUI draws."""

    displayFlags = Text("", "What is drawn, such as 'showVisualModels hideForceFields'.")


class BackgroundSetting(Inert):
    """Background of a GUI."""

    color = Color([0.0, 0.0, 0.0, 1.0], "Color.")
    image = Text("", "Picture.")


class OglSceneFrame(Inert):
    """The axes in a GUI."""

    style = Text("Arrows", "Look of the axes.")
    alignment = Text("BottomRight", "Place of the axes.")


class VisualGrid(Inert):
    """A grid in a GUI."""

    plane = Text("z", "Plane of the grid.")
    size = Real(10.0, "Size of the grid.", unit="length")
    nbSubdiv = Int(16, "Cells along each side.")
    thickness = Real(1.0, "Width of the lines.")
    color = Color([0.3, 0.3, 0.3, 1.0], "Color.")
    draw = Bool(True, "Draw it.")


class InteractiveCamera(Inert):
    """Camera of a GUI."""

    position = Vector(3, [0.0, 0.0, 0.0], "Place.", unit="length")
    lookAt = Vector(3, [0.0, 0.0, 0.0], "Where it looks.", unit="length")
    distance = Real(0.0, "Distance to that.", unit="length")
    orientation = Vector(4, [0.0, 0.0, 0.0, 1.0], "Quaternion.")
    fieldOfView = Real(45.0, "Angle.", unit="degree")
    zNear = Real(0.0, "Nearest distance drawn.", unit="length")
    zFar = Real(0.0, "Farthest distance drawn.", unit="length")
    projectionType = Text("Perspective", "Projection.")


class LightManager(Inert):
    """Lights of a GUI."""

    ambient = Color([0.0, 0.0, 0.0, 1.0], "Ambient light.")
    shadows = Bool(False, "Draw shadows.")


class PositionalLight(Inert):
    """A light of a GUI."""

    position = Vector(3, [0.0, 0.0, 0.0], "Place.", unit="length")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    fixed = Bool(False, "Moves with the camera.")
    attenuation = Real(0.0, "Loss with distance.")


class DirectionalLight(Inert):
    """A light of a GUI."""

    direction = Vector(3, [0.0, 0.0, -1.0], "Direction.")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")


class AttachBodyButtonSetting(Inert):
    """Picking with the mouse in a GUI."""

    button = Text("Left", "Button.")
    stiffness = Reals([1000.0], "Stiffness of the attachment.")


class ViewerSetting(Inert):
    """Window of a GUI."""

    resolution = Vector(2, [800, 600], "Size.")
    cameraMode = Text("Perspective", "Projection.")


class DefaultVisualManagerLoop(Inert):
    """Draws a scene in a GUI."""


class OglModel(Component):
    """A surface to be drawn; drawn by nobody yet."""

    category: ClassVar[str] = "visual"
    aliases: ClassVar[tuple[str, ...]] = ("VisualModelImpl",)

    filename = Text("", "Mesh file.", auto_link=False)
    fileMesh = Text("", "Mesh file.")
    position = Vectors(3, [], "Vertices.", unit="length")
    restPosition = Vectors(3, [], "Vertices at rest.", unit="length")
    normal = Vectors(3, [], "Normals.")
    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quadrilaterals.")
    edges = Elements(2, [], "Edges.")
    texcoords = Vectors(2, [], "Texture coordinates.")
    texturename = Text("", "Texture.")
    color = Text("", "Color.")
    material = Text("", "Material.")
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z.", unit="degree")
    scale = Real(1.0, "Scale.")
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.")
    scaleTex = Vector(2, [1.0, 1.0], "Scale of the texture.")
    useNormals = Bool(True, "Take the file's normals.")
    updateNormals = Bool(True, "Compute normals in every step.")
    handleDynamicTopology = Bool(True, "Follow changes of the mesh.")
    drawType = Int(0, "Points or lines.")
    depthTest = Bool(True, "Hide what lies behind.")
    cullFace = Int(0, "Hide one side.")
    alphaBlend = Bool(False, "Draw transparent.")
    topology = LinkType("Topology that holds the elements.")


class VisualModel(OglModel):
    """A surface to be drawn; drawn by nobody yet."""

    aliases = ()
