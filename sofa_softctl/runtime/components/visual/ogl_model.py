"""OglModel: the present surface, which nothing draws."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.roles import DrawnSurface
from sofa_softctl.runtime.components.loader.by_ending import load_mesh
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.reading import spell_out
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Choice,
    Elements,
    Int,
    Integers,
    Real,
    Text,
    Texts,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.core.data.views import DataContainer
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.rotation import rotation_zyx

_FACTORS = ("GL_ZERO", "GL_ONE", "GL_SRC_ALPHA", "GL_ONE_MINUS_SRC_ALPHA")


class _PresentNormals(DataContainer):
    """Normals of the present surface."""

    __slots__ = ()

    @override
    def get(self) -> np.ndarray:
        if self.owner.updateNormals.get() or len(self._value) != self.owner.count:
            self._value = self.owner.compute_normals()
        return self._value


class _Normals(Vectors):
    data_class = _PresentNormals


class VisualModel(DrawnSurface):
    """A surface that nothing draws, with positions for scripts.

    Its vertices and faces come from the scene, from `filename`, or from the node's topology.
    scale3d, rotation and translation act once, at init, in this order.
    """

    aliases: ClassVar[tuple[str, ...]] = ("VisualModelImpl",)

    enable = Bool(True, "Draw it.")
    restPosition = Vectors(3, [], "Vertices at rest.", unit="length")
    normal = _Normals(3, [], "Normals, by the areas of the faces around a vertex.")
    initRestPositions = Bool(False, "Store the first vertices as restPosition.")
    useNormals = Bool(True, "Unused: take the file's normals.", aliases=("normals",))
    updateNormals = Bool(True, "Recompute normals.")
    computeTangents = Bool(False, "Unused.")
    updateTangents = Bool(True, "Unused.")
    handleDynamicTopology = Bool(True, "Unused: the mesh does not change.")
    fixMergedUVSeams = Bool(True, "Unused.")
    keepLines = Bool(False, "Draw edges as well.")
    vertices = Vectors(3, [], "Vertices, where several are at one position.", unit="length")
    texcoords = Vectors(
        2, [], "Texture coordinates; by default, with a topology's faces, on a sphere."
    )
    tangents = Vectors(3, [], "Unused.")
    bitangents = Vectors(3, [], "Unused.")
    edges = Elements(2, [], "Edges.")
    triangles = Elements(3, [], "Triangles.")
    quads = Elements(4, [], "Quadrilaterals.")
    vertPosIdx = Integers([], "Unused: position of each of `vertices`.")
    vertNormIdx = Integers([], "Unused: normal of each of `vertices`.")
    filename = Text("", "Mesh file.", aliases=("fileMesh",))
    texturename = Text("", "Picture on the surface.", aliases=("textureFilename",))
    translation = Vector(3, [0.0, 0.0, 0.0], "Translation at init.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z at init.", unit="degree")
    scale3d = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z at init.")
    scaleTex = Vector(2, [1.0, 1.0], "Scale of the texture.")
    translationTex = Vector(2, [0.0, 0.0], "Translation of the texture.")
    material = Text("", "Material.")
    color = Text("", "Color.")
    castshadow = Bool(True, "It casts shadows.")
    flip = Bool(False, "Unused: turn the faces over.")
    putOnlyTexCoords = Bool(False, "Unused.")
    srgbTexturing = Bool(False, "Unused.")
    materials = Texts([], "Materials of parts.")
    groups = Texts([], "Faces of each material.")
    topology = LinkType("Topology that holds the faces; the node's own by default.")

    def __init__(self, *args: Any, **values: Any) -> None:
        scale = values.pop("scale", None)
        if scale is not None:
            values["scale3d"] = [reading.attribute(scale)] * 3
        for name, keys in (("scaleTex", ("su", "sv")), ("translationTex", ("du", "dv"))):
            if any(key in values for key in keys):
                unset = 1.0 if name == "scaleTex" else 0.0
                values[name] = [float(values.pop(key, unset)) for key in keys]
        super().__init__(*args, **spell_out(values))

    def init(self) -> None:
        """Find vertices and faces, and transform them."""
        if self.filename.get():
            self._load()
        elif not (self.count and (self.triangles.isSet() or self.quads.isSet())):
            self._copy_topology()
            if self.count and not len(self.texcoords.get()):
                self.texcoords.set(_on_sphere(self.position.get() * self.scale3d.get()))
        factors, angles = self.scale3d.get(), self.rotation.get()
        shift, position = self.translation.get(), self.position
        if (factors != 1.0).any() or angles.any() or shift.any():
            position.set((position.get() * factors) @ rotation_zyx(angles).T + shift)
        if self.initRestPositions.get():
            self.restPosition.set(position.get().copy())
        for name, neutral in (("scale3d", 1.0), ("rotation", 0.0), ("translation", 0.0)):
            self._data[name].set(np.full(3, neutral))

    def _load(self) -> None:
        try:
            loader = load_mesh(self, self.filename)
        except SceneError as error:
            complain(self, error)
            return
        for name in ("position", "edges", "triangles", "quads"):
            self._data[name].set(loader._data[name].get().copy())

    def _copy_topology(self) -> None:
        topology: Any = self._links["topology"].getLinkedBase()
        if topology is None and self._context is not None:
            topology = self._context.find_upward("topology")
        if topology is None:
            return
        if not self.count:
            self.position.set(topology.position.get().copy())
        for name in ("edges", "triangles", "quads"):
            faces = topology.elements(name) if name != "edges" else topology._data[name].get()
            if not self._data[name].isSet():
                self._data[name].set(np.array(faces))

    def compute_normals(self) -> np.ndarray:
        """Return the normals of the vertices, shape (n, 3); zero without faces."""
        x = self.position.get()
        normals = np.zeros((len(x), 3))
        for faces in (self.triangles.get(), self.quads.get()):
            width = faces.shape[1]
            if not len(faces) or faces.max() >= len(x):
                continue
            for k in range(width):
                # A quadrilateral has a separate normal at each corner.
                around = (k, (k + 1) % 4, (k + 3) % 4) if width == 4 else (0, 1, 2)
                a, b, c = (x[faces[:, corner]] for corner in around)
                np.add.at(normals, faces[:, k], np.cross(b - a, c - a))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.divide(normals, lengths, out=normals, where=lengths > 0.0)


def _on_sphere(points: np.ndarray) -> np.ndarray:
    """Return longitude and latitude about the bounding box's centre, 0 to 1, shape (n, 2)."""
    offsets = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
    lengths = np.linalg.norm(offsets, axis=1)
    sines = np.divide(offsets[:, 2], lengths, out=np.zeros(len(offsets)), where=lengths > 0.0)
    u = 0.5 + np.arctan2(offsets[:, 1], offsets[:, 0]) / (2.0 * np.pi)
    return np.stack([u, 0.5 - np.arcsin(sines) / np.pi], axis=1)


class OglModel(VisualModel):
    """A surface of SOFA's OpenGL window, with positions for scripts; nothing draws it."""

    aliases = ()

    blendTranslucency = Bool(True, "Mix transparent parts with what is behind.")
    premultipliedAlpha = Bool(False, "Unused.")
    writeZTransparent = Bool(False, "Unused.")
    alphaBlend = Bool(False, "Draw transparent.")
    depthTest = Bool(True, "Hide what lies behind.")
    cullFace = Int(0, "Hide one side.")
    lineWidth = Real(1.0, "Width of lines.")
    pointSize = Real(1.0, "Size of points.")
    lineSmooth = Bool(False, "Unused.")
    pointSmooth = Bool(False, "Unused.")
    isEnabled = Bool(True, "Old name of `enable`.")
    drawType = Int(0, "Unused.")
    primitiveType = Choice(
        "DEFAULT", "Unused.", choices=("DEFAULT", "LINES_ADJACENCY", "PATCHES", "POINTS")
    )
    blendEquation = Choice(
        "GL_FUNC_ADD", "Unused.", choices=("GL_FUNC_ADD", "GL_FUNC_SUBTRACT", "GL_MIN", "GL_MAX")
    )
    sfactor = Choice("GL_SRC_ALPHA", "Unused.", choices=_FACTORS)
    dfactor = Choice("GL_ONE_MINUS_SRC_ALPHA", "Unused.", choices=_FACTORS)


class OglShaderVisualModel(OglModel):
    """A surface that is drawn with a shader."""

    aliases = ()

    shader = LinkType("Unused.")


class MergeVisualModels(OglModel):
    """Several visual models as one, which lists their vertices and faces in order at init."""

    aliases = ()

    nb = Int(1, "Unused: number of models.")
    input = LinkType("A model.", kind="visual", aliases=("input1",))
    input2 = LinkType("A model.", kind="visual")
    input3 = LinkType("A model.", kind="visual")
    input4 = LinkType("A model.", kind="visual")

    def init(self) -> None:
        """Join the models."""
        linked: list[Any] = [self._links[name].getLinkedBase() for name in _INPUTS]
        models = [model for model in linked if model is not None]
        starts = np.cumsum([0, *(model.count for model in models)])
        if models:
            points = np.concatenate([model.position.get() for model in models])
            self.position.set(points)
            for name in ("edges", "triangles", "quads"):
                faces = [m._data[name].get() + s for m, s in zip(models, starts, strict=False)]
                self._data[name].set(np.concatenate(faces))


_INPUTS = ("input", "input2", "input3", "input4")
