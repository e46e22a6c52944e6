"""Elastic object of tetrahedra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa.Core
from splib3.loader.by_suffix import LOADERS
from stlib3.physics.collision import CollisionMesh
from stlib3.visuals import VisualModel

FORMER = {
    "attachedTo": "parent",
    "fromVolumeMesh": "volumeMeshFileName",
    "withRotation": "rotation",
    "withTranslation": "translation",
    "withScale": "scale",
    "withSurfaceMesh": "surfaceMeshFileName",
    "withTotalMass": "totalMass",
    "withYoungModulus": "youngModulus",
    "withPoissonRatio": "poissonRatio",
}
"""Names of arguments in the original's examples, which the prefab itself does not have."""


def _parameter(name: str, kind: str, default: Any, text: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "help": text, "default": default}


class ElasticMaterialObject(Sofa.Prefab):  # type: ignore[misc]
    """Node with a volume mesh, solvers, mass and linear elastic material in large rotations.

    `attachedTo=node`, or `parent=node`, adds it to a node.

    Its parts are `integration`, `solver`, `loader`, `container`, `dofs`, `mass`, `forcefield` and
    `correction`, and, if it has their meshes, the children `CollisionModel` and `VisualModel`.
    """

    prefabParameters = [
        _parameter("volumeMeshFileName", "string", "", "Mesh: .vtk, .vtu, .msh or .gidmsh."),
        _parameter("rotation", "Vec3d", [0.0, 0.0, 0.0], "Angles about x, y and z [degree]."),
        _parameter("translation", "Vec3d", [0.0, 0.0, 0.0], "Translation [length]."),
        _parameter("scale", "Vec3d", [1.0, 1.0, 1.0], "Scale."),
        _parameter("surfaceMeshFileName", "string", "", "Surface that is shown: .stl or .obj."),
        _parameter("collisionMesh", "string", "", "Surface that collides: .stl, .obj or .vtk."),
        _parameter("withConstrain", "bool", True, "Whether it takes part in constraints."),
        _parameter("surfaceColor", "Vec4d", [1.0, 1.0, 1.0, 1.0], "Color of what is shown."),
        _parameter("poissonRatio", "double", 0.3, "Poisson's ratio."),
        _parameter("youngModulus", "double", 18000, "Young's modulus [pressure]."),
        _parameter("totalMass", "double", 1.0, "Mass [mass]."),
        _parameter("solverName", "string", "", "Not empty: it is solved by solvers above it."),
    ]

    def __init__(self, *args: Any, **values: Any) -> None:
        values = {FORMER.get(name, name): value for name, value in values.items()}
        names = {"name", "parents", *(parameter["name"] for parameter in self.prefabParameters)}
        if unknown := sorted(values.keys() - names - {"parent"}):
            Sofa.msg_warning(
                "ElasticMaterialObject",
                f"{', '.join(unknown)} has no effect. It takes: {', '.join(sorted(names))}.",
            )
        Sofa.Prefab.__init__(self, *args, **values)

    def init(self) -> None:
        """Add the parts of the object."""
        if not self.solverName.value:
            self.integration = self.addObject("EulerImplicitSolver", name="integration")
            self.solver = self.addObject(
                "SparseLDLSolver", name="solver", template="CompressedRowSparseMatrixd"
            )
        file = self.volumeMeshFileName.value
        if not file:
            Sofa.msg_error(self, "An elastic object needs volumeMeshFileName, its volume mesh.")
            return
        self.loader = self.addObject(
            next(
                (LOADERS[end] for end in (".msh", ".gidmsh") if file.endswith(end)), LOADERS[".vtk"]
            ),
            name="loader",
            filename=file,
            **self._mesh_transform(),
        )
        self.container = self.addObject(
            "TetrahedronSetTopologyContainer",
            name="container",
            position=self.loader.position.getLinkPath(),
            tetras=self.loader.tetras.getLinkPath(),
        )
        self.dofs = self.addObject("MechanicalObject", template="Vec3", name="dofs")
        self.mass = self.addObject("UniformMass", totalMass=self.totalMass.value, name="mass")
        self.forcefield = self.addObject(
            "TetrahedronFEMForceField",
            template="Vec3",
            method="large",
            name="forcefield",
            poissonRatio=self.poissonRatio.value,
            youngModulus=self.youngModulus.value,
        )
        if self.withConstrain.value:
            self.correction = self.addObject("LinearSolverConstraintCorrection", name="correction")
        transform = self._mesh_transform()
        scale = transform.pop("scale3d")
        if self.collisionMesh.value:
            CollisionMesh(
                self, self.collisionMesh.value, name="CollisionModel", scale=scale, **transform
            )
        if self.surfaceMeshFileName.value:
            color = list(self.surfaceColor.value)
            self.addVisualModel(self.surfaceMeshFileName.value, color, scale=scale, **transform)

    def _mesh_transform(self) -> dict[str, list[float]]:
        """Return the transform of the meshes."""
        names = {"rotation": "rotation", "translation": "translation", "scale3d": "scale"}
        return {name: list(self.findData(parameter).value) for name, parameter in names.items()}

    def addVisualModel(
        self,
        filename: str,
        color: Sequence[float],
        rotation: Sequence[float],
        translation: Sequence[float],
        scale: Sequence[float] = (1.0, 1.0, 1.0),
    ) -> None:
        """Show a surface that moves with the object."""
        visual = VisualModel(
            visualMeshPath=filename,
            color=list(color),
            rotation=list(rotation),
            translation=list(translation),
            scale=list(scale),
        )
        self.addChild(visual)
        visual.addObject("BarycentricMapping", name="mapping")
