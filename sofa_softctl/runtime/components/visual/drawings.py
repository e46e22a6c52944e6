"""What a GUI draws besides the models: grids, axes, trails, texts in space."""

from __future__ import annotations

from sofa_softctl.runtime.components.visual.inert import Drawn, Inert
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Choice,
    Color,
    Elements,
    Int,
    Real,
    Reals,
    Text,
    Texts,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.core.link import LinkType


class VisualStyle(Inert):
    """What a GUI draws."""

    enable = Bool(True, "Unused.")
    displayFlags = Text("", "What is drawn, such as 'showVisualModels hideForceFields'.")


class VisualTransform(Inert):
    """Moves what is drawn in its node."""

    enable = Bool(True, "Unused.")
    transform = Vector(7, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "Place and quaternion.")
    recursive = Bool(False, "In the nodes below as well.")


class VisualGrid(Drawn):
    """A grid."""

    plane = Choice("z", "Direction in which the grid is flat.", choices=("x", "y", "z"))
    size = Real(10.0, "Size of the grid.", unit="length")
    nbSubdiv = Int(16, "Cells along each side.")
    thickness = Real(1.0, "Width of the lines.")
    color = Color([0.341176, 0.341176, 0.341176, 1.0], "Color.")
    draw = Bool(True, "Draw it.")


class LineAxis(Drawn):
    """The axes of the world."""

    axis = Text("xyz", "Axes to draw.")
    size = Real(10.0, "Length.", unit="length")
    infinite = Bool(False, "Without ends.")
    thickness = Real(1.0, "Width of the lines.")
    vanishing = Bool(False, "Lines without ends fade away.")
    draw = Bool(True, "Draw them.")


class OglSceneFrame(Drawn):
    """The axes in a corner."""

    draw = Bool(True, "Draw them.")
    style = Choice("Arrows", "Look of the axes.", choices=("Arrows", "Cylinders", "CubeCones"))
    alignment = Choice(
        "BottomRight",
        "Place of the axes.",
        choices=("BottomLeft", "BottomRight", "TopRight", "TopLeft"),
    )
    viewportSize = Int(150, "Size in pixels.")


class VisualBoundingBox(Drawn):
    """A box around what its node holds."""

    color = Color([1.0, 1.0, 0.0, 1.0], "Color.")
    thickness = Real(1.0, "Width of the lines.")


class TrailRenderer(Drawn):
    """The paths of points."""

    position = Vectors(3, [], "Points.", unit="length")
    nbSteps = Int(100, "Steps that a path goes back.")
    color = Color([0.0, 1.0, 0.0, 1.0], "Color.")
    thickness = Real(1.0, "Width of the lines.")


class Visual3DText(Drawn):
    """A text in space."""

    text = Text("", "Text.")
    position = Vector(3, [0.0, 0.0, 0.0], "Place.", unit="length")
    scale = Real(1.0, "Size.")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    depthTest = Bool(True, "Hide it behind what is nearer.")


class VisualVectorField(Drawn):
    """Arrows at points; of later versions of SOFA."""

    position = Vectors(3, [], "Points.", unit="length")
    vector = Vectors(3, [], "Vector of each point.")
    vectorScale = Real(1.0, "Length by length of the vector.")
    drawMode = Choice("Line", "Look.", choices=("Line", "Cylinder", "Arrow"))
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")


class CylinderVisualModel(Drawn):
    """Edges as cylinders."""

    aliases = ("OglCylinderModel",)

    position = Vectors(3, [], "Points.", unit="length")
    restPosition = Vectors(3, [], "Points at rest.", unit="length")
    normal = Vectors(3, [], "Unused.")
    radius = Real(1.0, "Radius.", unit="length")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    edges = Elements(2, [], "Edges.")


class PointSplatModel(Drawn):
    """Points as discs that face the camera."""

    aliases = ("PointSplat",)

    radius = Real(1.0, "Radius.", unit="length")
    textureSize = Int(32, "Unused.")
    alpha = Real(1.0, "Opacity.")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    pointData = Reals([], "A number of each point, shown by its color.")


class SlicedVolumetricModel(Drawn):
    """A volume as slices."""

    alpha = Real(0.2, "Opacity.")
    color = Color([1.0, 1.0, 1.0, 1.0], "Color.")
    nbSlices = Int(100, "Slices.")


class ClipPlane(Drawn):
    """Hides what is on one side of a plane."""

    position = Vector(3, [0.0, 0.0, 0.0], "A point of the plane.", unit="length")
    normal = Vector(3, [1.0, 0.0, 0.0], "Towards the hidden side.")
    id = Int(0, "Unused.")
    active = Bool(True, "It hides.")


class DataDisplay(Drawn):
    """Numbers of points and elements, shown by their colors."""

    maximalRange = Bool(True, "Keep the range of all steps.")
    pointData = Reals([], "Numbers of points.")
    triangleData = Reals([], "Numbers of triangles.", aliases=("cellData",))
    quadData = Reals([], "Numbers of quadrilaterals.")
    pointTriangleData = Reals([], "Numbers of the vertices of each triangle.")
    pointQuadData = Reals([], "Numbers of the vertices of each quadrilateral.")
    colorNaN = Color([0.0, 0.0, 0.0, 1.0], "Color of what is no number.")
    userRange = Vector(2, [1.0, -1.0], "Range, where the second is larger.")
    currentMin = Real(0.0, "Unused.")
    currentMax = Real(0.0, "Unused.")
    shininess = Real(-1.0, "Unused.")
    transparency = Real(1.0, "Opacity.")
    position = Vectors(3, [], "Unused.", unit="length")
    restPosition = Vectors(3, [], "Unused.", unit="length")
    normal = Vectors(3, [], "Unused.")
    topology = LinkType("Topology that is drawn.")


class OglColorMap(Drawn):
    """A scale of colors."""

    aliases = ("ColorMap",)

    paletteSize = Int(256, "Colors.")
    colorScheme = Text("Red to Blue", "Name of the scale.")
    showLegend = Bool(False, "Draw the scale.")
    legendOffset = Vector(2, [10.0, 5.0], "Place of the drawn scale.")
    legendTitle = Text("", "Title of the drawn scale.")
    legendSize = Int(11, "Size of its letters.")
    min = Real(0.0, "Smallest number.")
    max = Real(0.0, "Largest number.")
    legendRangeScale = Real(1.0, "Factor on the numbers of the drawn scale.")


class OglLabel(Drawn):
    """A text in the window."""

    prefix = Text("", "Before the text.")
    label = Text("", "Text.")
    suffix = Text("", "After the text.")
    x = Int(10, "Place in pixels.")
    y = Int(10, "Place in pixels.")
    fontsize = Int(14, "Size of the letters.")
    color = Color([0.5, 0.5, 0.5, 1.0], "Color.")
    selectContrastingColor = Bool(False, "Choose the color by the background.")
    updateLabelEveryNbSteps = Int(0, "Steps between changes of the text.")


class OglViewport(Drawn):
    """A part of the window with a camera of its own."""

    screenPosition = Vector(2, [0.0, 0.0], "Place in the window.")
    screenSize = Vector(2, [0.0, 0.0], "Size in the window.")
    cameraPosition = Vector(3, [0.0, 0.0, 0.0], "Place of the camera.", unit="length")
    cameraOrientation = Vector(4, [0.0, 0.0, 0.0, 1.0], "Quaternion of the camera.")
    cameraRigid = Vector(7, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "Both.")
    zNear = Real(0.0, "Nearest distance drawn.", unit="length")
    zFar = Real(0.0, "Farthest distance drawn.", unit="length")
    fovy = Real(60.0, "Angle of view from bottom to top.", unit="degree")
    enabled = Bool(True, "Draw it.")
    advancedRendering = Bool(False, "Unused.")
    useFBO = Bool(True, "Unused.")
    swapMainView = Bool(False, "Exchange it with the window.")
    drawCamera = Bool(False, "Draw the camera.")


class TextureInterpolation(Inert):
    """Colors of points by numbers; it computes nothing here."""

    input_states = Reals([], "Numbers of points.")
    input_coordinates = Vectors(3, [], "Points.", unit="length")
    output_coordinates = Vectors(2, [], "Texture coordinates: empty here.")
    scalarField = Bool(True, "Take the first number only.")
    min_value = Real(0.0, "Smallest number.")
    max_value = Real(0.0, "Largest number.")
    manual_scale = Bool(False, "Take these.")
    drawPotentiels = Bool(False, "Unused.")
    showIndicesScale = Real(0.0001, "Unused.")
    vertexPloted = Int(0, "Unused.")
    graph = Texts([], "Unused.")
