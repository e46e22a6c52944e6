"""Shaders, textures and passes of SOFA's OpenGL drawing: accepted, without effect."""

from __future__ import annotations

from sofa_softctl.runtime.components.visual.inert import Drawn, Inert
from sofa_softctl.runtime.components.visual.ogl_model import OglModel
from sofa_softctl.runtime.core.data.types import Bool, Int, Integers, Real, Reals, Text, Texts
from sofa_softctl.runtime.core.link import LinkType


class OglShader(Drawn):
    """A shader."""

    turnOn = Bool(True, "Use it.")
    passive = Bool(False, "Unused.")
    fileVertexShaders = Texts(["shaders/toonShading.vert"], "Files.", aliases=("vertFilename",))
    fileFragmentShaders = Texts(["shaders/toonShading.frag"], "Files.", aliases=("fragFilename",))
    fileGeometryShaders = Texts([], "Files.", aliases=("geoFilename",))
    fileTessellationControlShaders = Texts([], "Files.")
    fileTessellationEvaluationShaders = Texts([], "Files.")
    geometryInputType = Int(-1, "Unused.")
    geometryOutputType = Int(-1, "Unused.")
    geometryVerticesOut = Int(-1, "Unused.")
    tessellationOuterLevel = Real(1.0, "Unused.", aliases=("tessellationLevel",))
    tessellationInnerLevel = Real(1.0, "Unused.")
    indexActiveShader = Int(0, "Unused.")
    backfaceWriting = Bool(False, "Unused.")
    clampVertexColor = Bool(True, "Unused.")


class OglOITShader(OglShader):
    """A shader of transparent surfaces."""


class OglShadowShader(OglShader):
    """A shader of shadows."""


class OglRenderingSRGB(Drawn):
    """Draws in sRGB."""


class OglShaderElement(Drawn):
    """What belongs to a shader."""

    id = Text("", "Name in the shader.")
    indexShader = Int(0, "Unused.")
    shaderTag = Text("", "Unused.")


class OglShaderDefineMacro(OglShaderElement):
    """A macro of a shader."""

    value = Text("", "Value.")


class OglTexture(OglShaderElement):
    """A texture."""

    filename = Text("", "Picture.", aliases=("textureFilename",))
    textureUnit = Int(1, "Unused.")
    enabled = Bool(True, "Use it.")
    repeat = Bool(False, "Unused.")
    linearInterpolation = Bool(True, "Unused.")
    generateMipmaps = Bool(True, "Unused.")
    srgbColorspace = Bool(False, "Unused.")
    minLod = Real(-1000.0, "Unused.")
    maxLod = Real(1000.0, "Unused.")
    proceduralTextureWidth = Int(0, "Unused.")
    proceduralTextureHeight = Int(0, "Unused.")
    proceduralTextureNbBits = Int(1, "Unused.")
    proceduralTextureData = Integers([], "Unused.")
    cubemapFilenamePosX = Text("", "Picture.")
    cubemapFilenamePosY = Text("", "Picture.")
    cubemapFilenamePosZ = Text("", "Picture.")
    cubemapFilenameNegX = Text("", "Picture.")
    cubemapFilenameNegY = Text("", "Picture.")
    cubemapFilenameNegZ = Text("", "Picture.")


class OglTexture2D(OglTexture):
    """A texture."""

    texture2DFilename = Text("", "Picture.")


class OglTexturePointer(OglShaderElement):
    """A texture used again."""

    oglTexture = LinkType("Texture.")
    textureUnit = Int(1, "Unused.")
    enabled = Bool(True, "Use it.")


class OglShaderVisualModel(OglModel):
    """A surface that is drawn with a shader."""

    aliases = ()

    shader = LinkType("Unused.")


class OrderIndependentTransparencyManager(Drawn):
    """Draws transparent surfaces."""

    depthScale = Real(0.01, "Unused.")


class PostProcessManager(Drawn):
    """Draws with a depth of field."""

    zNear = Real(1.0, "Nearest distance drawn.", unit="length")
    zFar = Real(100.0, "Farthest distance drawn.", unit="length")


class CompositingVisualLoop(Inert):
    """Draws in passes."""

    targetNode = LinkType("Unused.")
    vertFilename = Text("shaders/compositing.vert", "File.")
    fragFilename = Text("shaders/compositing.frag", "File.")


class VisualManagerPass(Drawn):
    """A pass."""

    factor = Real(1.0, "Unused.")
    renderToScreen = Bool(False, "Unused.")
    outputName = Text("", "Unused.")


class VisualManagerSecondaryPass(VisualManagerPass):
    """A pass over the pictures of others."""

    input_tags = Texts([], "Unused.")
    output_tags = Texts([], "Unused.")
    fragFilename = Text("", "File.")
    shader = LinkType("Shader.")


class OglVariable(OglShaderElement):
    """A variable of a shader."""

    value = Reals([], "Value.", aliases=("values",))
    transpose = Bool(False, "Unused.")


class OglAttribute(OglShaderElement):
    """A number, or several, of each vertex for a shader."""

    value = Reals([], "Values.")
    handleDynamicTopology = Bool(True, "Unused.")


def _named(base: type[OglShaderElement], *names: str) -> dict[str, type[OglShaderElement]]:
    return {
        name: type(name, (base,), {"__doc__": base.__doc__, "__module__": __name__})
        for name in names
    }


_VARIABLES = [f"Ogl{kind}{n}Variable" for kind in ("Int", "Float") for n in ("", 2, 3, 4)]
_VARIABLES += [f"Ogl{kind}Vector{n}Variable" for kind in ("Int", "Float") for n in ("", 2, 3, 4)]
_VARIABLES += [
    f"OglMatrix{shape}Variable"
    for shape in ("2", "3", "4", "2x3", "3x2", "2x4", "4x2", "3x4", "4x3", "4Vector")
]
_ATTRIBUTES = [f"Ogl{kind}{n}Attribute" for kind in ("Float", "Int", "UInt") for n in ("", 2, 3, 4)]

globals().update(_named(OglVariable, *_VARIABLES) | _named(OglAttribute, *_ATTRIBUTES))
