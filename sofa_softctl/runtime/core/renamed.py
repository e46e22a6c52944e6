"""Names of components that the runtime does not have, with replacements and origins.

Source: SOFA v25.06's own messages (sofa/helper/ComponentChange.cpp).
"""

from __future__ import annotations

import re

_STILL_ACCEPTED = {
    "AffineMovementConstraint": "AffineMovementProjectiveConstraint",
    "AttachConstraint": "AttachProjectiveConstraint",
    "BilateralInteractionConstraint": "BilateralLagrangianConstraint",
    "FixedConstraint": "FixedProjectiveConstraint",
    "FixedPlaneConstraint": "FixedPlaneProjectiveConstraint",
    "FixedRotationConstraint": "FixedRotationProjectiveConstraint",
    "FixedTranslationConstraint": "FixedTranslationProjectiveConstraint",
    "HermiteSplineConstraint": "HermiteSplineProjectiveConstraint",
    "LinearMovementConstraint": "LinearMovementProjectiveConstraint",
    "LinearVelocityConstraint": "LinearVelocityProjectiveConstraint",
    "OglCylinderModel": "CylinderVisualModel",
    "OscillatorConstraint": "OscillatorProjectiveConstraint",
    "ParabolicConstraint": "ParabolicProjectiveConstraint",
    "ParallelStiffSpringForceField": "ParallelSpringForceField",
    "PartialFixedConstraint": "PartialFixedProjectiveConstraint",
    "PartialLinearMovementConstraint": "PartialLinearMovementProjectiveConstraint",
    "PatchTestMovementConstraint": "PatchTestMovementProjectiveConstraint",
    "PositionBasedDynamicsConstraint": "PositionBasedDynamicsProjectiveConstraint",
    "ProjectDirectionConstraint": "DirectionProjectiveConstraint",
    "ProjectToLineConstraint": "LineProjectiveConstraint",
    "ProjectToPlaneConstraint": "PlaneProjectiveConstraint",
    "ProjectToPointConstraint": "PointProjectiveConstraint",
    "ShewchukPCGLinearSolver": "PCGLinearSolver",
    "SkeletalMotionConstraint": "SkeletalMotionProjectiveConstraint",
    "SlidingConstraint": "SlidingLagrangianConstraint",
    "StiffSpringForceField": "SpringForceField",
    "StopperConstraint": "StopperLagrangianConstraint",
    "UniformConstraint": "UniformLagrangianConstraint",
    "UnilateralInteractionConstraint": "UnilateralLagrangianConstraint",
}
"""New names by old names that SOFA v25.06 still accepts."""

_ALIASES = {
    "AddFrameButton": "AddFrameButtonSetting",
    "AddRecordedCameraButton": "AddRecordedCameraButtonSetting",
    "AttachBodyButton": "AttachBodyButtonSetting",
    "Background": "BackgroundSetting",
    "CGSolver": "CGLinearSolver",
    "CentralDifference": "CentralDifferenceSolver",
    "ColorMap": "OglColorMap",
    "ConjugateGradient": "CGLinearSolver",
    "CylinderGrid": "CylinderGridTopology",
    "DampVelocity": "DampVelocitySolver",
    "DefaultContactManager": "CollisionResponse",
    "DefaultPipeline": "CollisionPipeline",
    "EulerImplicit": "EulerImplicitSolver",
    "FixPickedParticleButton": "FixPickedParticleButtonSetting",
    "FreeMotionMasterSolver": "FreeMotionAnimationLoop",
    "Grid": "GridTopology",
    "ImplicitEuler": "EulerImplicitSolver",
    "ImplicitEulerSolver": "EulerImplicitSolver",
    "IncrementalSAP": "IncrSAP",
    "IncrementalSweepAndPrune": "IncrSAP",
    "JacobiLinearSolver": "JacobiPreconditioner",
    "JacobiSolver": "JacobiPreconditioner",
    "MINRESSolver": "MinResLinearSolver",
    "MasterConstraintSolver": "ConstraintAnimationLoop",
    "Mesh": "MeshTopology",
    "MeshObjLoader": "MeshOBJLoader",
    "MinResSolver": "MinResLinearSolver",
    "MultiStepMasterSolver": "MultiStepAnimationLoop",
    "MultiTagMasterSolver": "MultiTagAnimationLoop",
    "OBJExporter": "VisualModelOBJExporter",
    "ObjExporter": "VisualModelOBJExporter",
    "PointSplat": "PointSplatModel",
    "RegularGrid": "RegularGridTopology",
    "RigidEngine": "RigidToQuatEngine",
    "RuleBasedCollisionResponse": "RuleBasedContactManager",
    "RungeKutta2": "RungeKutta2Solver",
    "RungeKutta4": "RungeKutta4Solver",
    "SSORLinearSolver": "SSORPreconditioner",
    "SSORSolver": "SSORPreconditioner",
    "SVD": "SVDLinearSolver",
    "SVDLinear": "SVDLinearSolver",
    "SofaDefaultPath": "SofaDefaultPathSetting",
    "SparseGrid": "SparseGridTopology",
    "SparseGridMultiple": "SparseGridMultipleTopology",
    "SparseGridRamification": "SparseGridRamificationTopology",
    "SphereGrid": "SphereGridTopology",
    "SphereQuad": "SphereQuadTopology",
    "StartNavigationButton": "StartNavigationButtonSetting",
    "Stats": "StatsSetting",
    "SurfaceIdentityMapping": "SubsetMapping",
    "TriangleOctree": "TriangleOctreeModel",
    "VariationalSolver": "VariationalSymplecticSolver",
    "Viewer": "ViewerSetting",
}
"""New names by old names that SOFA accepted until v24.06; its error now names the new one."""

_CLASSES = {
    "Capsule": "CapsuleCollisionModel",
    "CapsuleModel": "CapsuleCollisionModel",
    "Cube": "CubeCollisionModel",
    "CubeModel": "CubeCollisionModel",
    "Cylinder": "CylinderCollisionModel",
    "CylinderModel": "CylinderCollisionModel",
    "Euler": "EulerExplicitSolver",
    "EulerExplicit": "EulerExplicitSolver",
    "EulerSolver": "EulerExplicitSolver",
    "ExplicitEuler": "EulerExplicitSolver",
    "ExplicitEulerSolver": "EulerExplicitSolver",
    "Line": "LineCollisionModel",
    "LineMesh": "LineCollisionModel",
    "LineMeshModel": "LineCollisionModel",
    "LineModel": "LineCollisionModel",
    "LineSet": "LineCollisionModel",
    "LineSetModel": "LineCollisionModel",
    "OBB": "OBBCollisionModel",
    "OBBModel": "OBBCollisionModel",
    "Point": "PointCollisionModel",
    "PointMesh": "PointCollisionModel",
    "PointModel": "PointCollisionModel",
    "PointSet": "PointCollisionModel",
    "Ray": "RayCollisionModel",
    "RayModel": "RayCollisionModel",
    "RigidCapsule": "CapsuleCollisionModel",
    "RigidCapsuleCollisionModel": "CapsuleCollisionModel",
    "RigidCapsuleModel": "CapsuleCollisionModel",
    "Sphere": "SphereCollisionModel",
    "SphereModel": "SphereCollisionModel",
    "TCapsuleModel": "CapsuleCollisionModel",
    "TLineModel": "LineCollisionModel",
    "TOBBModel": "OBBCollisionModel",
    "TPointModel": "PointCollisionModel",
    "TSphereModel": "SphereCollisionModel",
    "TTriangleModel": "TriangleCollisionModel",
    "Tetrahedron": "TetrahedronCollisionModel",
    "TetrahedronModel": "TetrahedronCollisionModel",
    "Triangle": "TriangleCollisionModel",
    "TriangleMesh": "TriangleCollisionModel",
    "TriangleMeshModel": "TriangleCollisionModel",
    "TriangleModel": "TriangleCollisionModel",
    "TriangleSet": "TriangleCollisionModel",
    "TriangleSetModel": "TriangleCollisionModel",
}
"""New names by old names that SOFA accepted until v20.06."""

_VISUAL = {"OglGrid": "VisualGrid", "OglLineAxis": "LineAxis"}
"""Names by equal components that SOFA had until v23.06."""

RENAMED: dict[str, str] = _STILL_ACCEPTED | _ALIASES | _CLASSES | _VISUAL
"""Present names of classes by old names."""

ERRORS_IN_SOFA: frozenset[str] = frozenset(_ALIASES | _CLASSES | _VISUAL)
"""Old names that are errors in SOFA v25.06."""

REMOVED: dict[str, str] = {
    "CudaPoint": "SOFA removed it in v20.06: write PointCollisionModel.",
    "CudaPointModel": "SOFA removed it in v20.06: write PointCollisionModel.",
    "DynamicSparseGridTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "EdgeSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "HexahedronSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "LMDNewProximityIntersection": "SOFA removed it in v21.12: write LocalMinDistance.",
    "LineLocalMinDistanceFilter": "SOFA removed it in v21.12: LocalMinDistance filters by itself.",
    "LocalMinDistanceFilter": "SOFA removed it in v21.12: LocalMinDistance filters by itself.",
    "MakeAliasComponent": "SOFA removed it in v25.06: write the name of the class itself.",
    "MakeDataAliasComponent": "SOFA removed it in v25.06: write the name of the Data itself.",
    "MappingGeometricStiffnessForceField": (
        "SOFA removed it in v23.12: say geometricStiffness='Stabilized' in the mapping."
    ),
    "MechanicalMatrixMapper": (
        "SOFA removed it in v23.12: the matrices of mapped components reach the solver by"
        " themselves, so leave it out."
    ),
    "MechanicalMatrixMapperMOR": (
        "SOFA needs none since v23.12: the matrices of mapped components reach the solver"
        " by themselves, so leave it out."
    ),
    "MeshLoader": (
        "It is no class of SOFA: write the loader of the kind of file, such as "
        "MeshOBJLoader, MeshVTKLoader, MeshGmshLoader or MeshSTLLoader."
    ),
    "PointConstraint": "SOFA removed it in v22.06.",
    "PointLocalMinDistanceFilter": (
        "SOFA removed it in v21.12: LocalMinDistance filters by itself."
    ),
    "PointSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "PythonMainScriptController": (
        "It belongs to SofaPython, for Python 2: write a class that inherits "
        "Sofa.Core.Controller and add an instance of it."
    ),
    "PythonScriptController": (
        "It belongs to SofaPython, for Python 2: write a class that inherits "
        "Sofa.Core.Controller and add an instance of it."
    ),
    "QuadSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "TetrahedronSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
    "TriangleLocalMinDistanceFilter": (
        "SOFA removed it in v21.12: LocalMinDistance filters by itself."
    ),
    "TriangleSetTopologyAlgorithms": (
        "SOFA removed it in v20.12: the topology modifier does its work, so leave it out."
    ),
}
"""Replacements of removed classes, in a sentence or two."""

ELSEWHERE: dict[str, str] = {
    "BarycentricDistanceLMConstraintContact": "LMConstraint",
    "BarycentricDistanceLMConstraintContact_DistanceGrid": "LMConstraint",
    "BaseLMConstraint": "LMConstraint",
    "CompareState": "SofaValidation",
    "CompareTopology": "SofaValidation",
    "DOFBlockerLMConstraint": "LMConstraint",
    "DataController": "SofaValidation",
    "DataMonitor": "SofaValidation",
    "DevAngleCollisionMonitor": "SofaValidation",
    "DevMonitorManager": "SofaValidation",
    "DevTensionMonitor": "SofaValidation",
    "DistanceLMConstraint": "LMConstraint",
    "DistanceLMContactConstraint": "LMConstraint",
    "EvalPointsDistance": "SofaValidation",
    "EvalSurfaceDistance": "SofaValidation",
    "ExtraMonitor": "SofaValidation",
    "FixedLMConstraint": "LMConstraint",
    "LMConstraint": "LMConstraint",
    "LMConstraintDirectSolver": "LMConstraint",
    "LMConstraintSolver": "LMConstraint",
    "Monitor": "SofaValidation",
    "PauseAnimationOnEvent": "SofaGraphComponent",
    "SleepController": "SofaUserInteraction",
    "TetrahedronBarycentricDistanceLMConstraintContact": "LMConstraint",
}
"""Plugins of classes that left SOFA."""


_FAMILIES = (
    (r"Articul", "articulated bodies"),
    (
        r"WireRestShape|Adaptive.*Beam|.*BeamInterpolation|WBeam|Interventional|.*RodSection|"
        r"RodMeshLoader|SutureController",
        "beams (plugin BeamAdapter)",
    ),
    (r"Beam(?!Adapter).*ForceField|BeamLinearMapping|.*TubularMapping", "beams"),
    (
        r".*Cosserat|BeamHooke|LegendrePolynomials|PointsManager|.*DifferenceMultiMapping|"
        r"RigidDistanceMapping|ProjectionEngine",
        "rods (plugin Cosserat)",
    ),
    (
        r"HyperReduced|ModelOrderReduction|MOR|MechanicalMatrixMapperMOR|MappedMatrix",
        "reduced models (plugin ModelOrderReduction)",
    ),
    (r"Hexa.*ForceField|.*SparseGrid|.*NonUniform.*", "hexahedra"),
    (r"Triang.*ForceField|Quad.*ForceField|.*Shell|.*BendingFEM|TriangleFEM", "shells"),
    (r"Ogl|Visual|.*Camera|.*Light|.*Shader|Recorded", "drawing"),
    (r"Haptic|Geomagic|.*Joystick|OptiTrack|.*Tracking|LeapMotion", "devices of input"),
    (r".*Cuda", "SOFA's plugin for graphics cards"),
)


def family_of(name: str) -> str:
    """Return the family of a component of that name, or "" if it is unknown."""
    return next((text for pattern, text in _FAMILIES if re.match(pattern, name)), "")
