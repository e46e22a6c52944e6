"""Rigid object with a surface mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa.Core
from stlib3.visuals import VisualModel

MODELS = ("TriangleCollisionModel", "LineCollisionModel", "PointCollisionModel")


class Correction(Sofa.Core.Controller):  # type: ignore[misc]
    """Controller that adds a missing constraint correction to its node at the start."""

    def __init__(self, *args: Any, **values: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **values)
        self.listening = False

    def init(self) -> None:
        """Add the correction if constraints are solved and the node has none."""
        node = self.getContext()
        if _has(node.getRoot(), "FreeMotionAnimationLoop") and not _is_corrected(node):
            node.addObject("UncoupledConstraintCorrection").init()


def _is_corrected(node: Any) -> bool:
    above = list(node.parents)
    while above:
        if _has(above[0], "GenericConstraintCorrection"):  # it corrects all solvers below it
            return True
        above = [*above[1:], *above[0].parents]
    return _has(node, "ConstraintCorrection")


def _has(node: Any, ending: str) -> bool:
    return any(item.getClassName().endswith(ending) for item in node.objects)


def RigidObject(
    name: str = "RigidObject",
    surfaceMeshFileName: str | None = None,
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
    totalMass: float = 1.0,
    volume: float = 1.0,
    inertiaMatrix: Sequence[float] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
    color: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    collisionGroup: Any = "",
    isAStaticObject: bool = False,
    parent: Any = None,
) -> Any:
    """Return a node with a rigid body, and its surface that collides and is shown.

    If the scene has a FreeMotionAnimationLoop, it gets an UncoupledConstraintCorrection unless it
    has a correction when the scene starts: without it no body moves under that loop. (The
    original promises a correction, but adds none.)

    Args:
        name: Name of the node.
        surfaceMeshFileName: Mesh, .obj; without it there is neither a collision nor a visual model
            until `node.addCollisionModel(file)` and `node.addVisualModel(file)`.
        translation: Position [length].
        rotation: Angles about x, y and z [degree].
        uniformScale: Scale of the mesh.
        totalMass: Mass [mass].
        volume: Volume [length^3].
        inertiaMatrix: Inertia about the centre divided by the mass [length^2].
        color: Red, green, blue and opacity, 0 to 1.
        collisionGroup: Number or numbers; surfaces with a common number do not collide.
        isAStaticObject: The object does not move and has no solvers.
        parent: Node to which it is added.

    Returns:
        The node.
    """
    node = Sofa.Core.Node(name)
    if parent is not None:
        parent.addChild(node)
    node.addObject(
        "MechanicalObject",
        name="mstate",
        template="Rigid3",
        translation2=list(translation),
        rotation2=list(rotation),
        showObjectScale=uniformScale,
    )
    node.addObject("UniformMass", name="mass", vertexMass=[totalMass, volume, *inertiaMatrix])
    if not isAStaticObject:
        node.addObject("EulerImplicitSolver")
        node.addObject("CGLinearSolver", iterations=25, tolerance=1e-5, threshold=1e-5)

        node.addObject(Correction(name="correction"))

    def addCollisionModel(inputMesh: str | None = surfaceMeshFileName) -> None:
        collision = node.addChild("collision")
        collision.addObject(
            "MeshOBJLoader",
            name="loader",
            filename=inputMesh,
            triangulate=True,
            scale=uniformScale,
        )
        collision.addObject("MeshTopology", src="@loader")
        collision.addObject("MechanicalObject")
        still = {"moving": False, "simulated": False} if isAStaticObject else {}
        for model in MODELS:
            collision.addObject(model, group=collisionGroup, **still)
        collision.addObject("RigidMapping")

    def addVisualModel(inputMesh: str | None = surfaceMeshFileName) -> None:
        scale = [uniformScale] * 3
        visual = VisualModel(
            name="visual", visualMeshPath=inputMesh, color=list(color), scale=scale
        )
        node.addChild(visual)
        visual.addObject("RigidMapping")

    node.addCollisionModel = addCollisionModel
    node.addVisualModel = addVisualModel
    if surfaceMeshFileName is not None:
        addCollisionModel()
        addVisualModel()
    return node
