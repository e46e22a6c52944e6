"""Registry of the built-in components."""

from __future__ import annotations

from sofa_softctl.runtime.components.collision.intersection import (
    DiscreteIntersection,
    LocalMinDistance,
    MinProximityIntersection,
    NewProximityIntersection,
)
from sofa_softctl.runtime.components.collision.listener import ContactListener
from sofa_softctl.runtime.components.collision.models import (
    LineCollisionModel,
    PointCollisionModel,
    SphereCollisionModel,
    TriangleCollisionModel,
)
from sofa_softctl.runtime.components.collision.pipeline import (
    BruteForceBroadPhase,
    BVHNarrowPhase,
    CollisionPipeline,
)
from sofa_softctl.runtime.components.collision.response import (
    CollisionResponse,
    RuleBasedContactManager,
)
from sofa_softctl.runtime.components.constraint.cable import CableConstraint
from sofa_softctl.runtime.components.constraint.corrections import (
    GenericConstraintCorrection,
    LinearSolverConstraintCorrection,
    UncoupledConstraintCorrection,
)
from sofa_softctl.runtime.components.constraint.generic_solver import GenericConstraintSolver
from sofa_softctl.runtime.components.constraint.joint import JointConstraint
from sofa_softctl.runtime.components.constraint.position import PositionConstraint
from sofa_softctl.runtime.components.constraint.surface_pressure import SurfacePressureConstraint
from sofa_softctl.runtime.components.elasticity.fast_tetrahedral import (
    FastTetrahedralCorotationalForceField,
)
from sofa_softctl.runtime.components.elasticity.tetrahedron_fem import TetrahedronFEMForceField
from sofa_softctl.runtime.components.elasticity.tetrahedron_hyperelasticity import (
    TetrahedronHyperelasticityFEMForceField,
)
from sofa_softctl.runtime.components.engine.generate_rigid_mass import GenerateRigidMass
from sofa_softctl.runtime.components.loader.mesh_loader import (
    MeshGmshLoader,
    MeshOBJLoader,
    MeshSTLLoader,
    MeshVTKLoader,
)
from sofa_softctl.runtime.components.mapping.barycentric import BarycentricMapping
from sofa_softctl.runtime.components.mapping.identity import IdentityMapping
from sofa_softctl.runtime.components.mapping.rigid import RigidMapping
from sofa_softctl.runtime.components.mapping.subset import SubsetMapping
from sofa_softctl.runtime.components.mapping.subset_multi import SubsetMultiMapping
from sofa_softctl.runtime.components.mass.consistent import MeshMatrixMass
from sofa_softctl.runtime.components.mass.diagonal import DiagonalMass
from sofa_softctl.runtime.components.mass.uniform import UniformMass
from sofa_softctl.runtime.components.projective.fixed import (
    FixedProjectiveConstraint,
    PartialFixedProjectiveConstraint,
)
from sofa_softctl.runtime.components.roi.box import BoxROI
from sofa_softctl.runtime.components.roi.sphere import SphereROI
from sofa_softctl.runtime.components.softrobots_inverse.actuators import (
    CableActuator,
    CableEquality,
    PositionEquality,
)
from sofa_softctl.runtime.components.softrobots_inverse.cable_effector import (
    CableEffector,
    CableSensor,
)
from sofa_softctl.runtime.components.softrobots_inverse.effectors import (
    BarycentricCenterEffector,
    PositionEffector,
)
from sofa_softctl.runtime.components.softrobots_inverse.force_point import ForcePointActuator
from sofa_softctl.runtime.components.softrobots_inverse.joint import JointActuator
from sofa_softctl.runtime.components.softrobots_inverse.pressure import (
    SurfacePressureActuator,
    SurfacePressureEquality,
    SurfacePressureSensor,
)
from sofa_softctl.runtime.components.softrobots_inverse.qp_solver import QPInverseProblemSolver
from sofa_softctl.runtime.components.softrobots_inverse.sliding import SlidingActuator
from sofa_softctl.runtime.components.softrobots_inverse.volume import VolumeEffector
from sofa_softctl.runtime.components.softrobots_inverse.young_modulus import YoungModulusActuator
from sofa_softctl.runtime.components.solver.conjugate_gradient import CGLinearSolver
from sofa_softctl.runtime.components.solver.default_loop import DefaultAnimationLoop
from sofa_softctl.runtime.components.solver.direct import SparseLDLSolver
from sofa_softctl.runtime.components.solver.euler_implicit import EulerImplicitSolver
from sofa_softctl.runtime.components.solver.free_motion_loop import FreeMotionAnimationLoop
from sofa_softctl.runtime.components.solver.newton_raphson import NewtonRaphsonSolver
from sofa_softctl.runtime.components.solver.static import StaticSolver
from sofa_softctl.runtime.components.spring.rest_shape import RestShapeSpringsForceField
from sofa_softctl.runtime.components.state.mechanical_object import MechanicalObject
from sofa_softctl.runtime.components.topology.containers import (
    EdgeSetGeometryAlgorithms,
    EdgeSetTopologyContainer,
    EdgeSetTopologyModifier,
    HexahedronSetTopologyContainer,
    PointSetTopologyContainer,
    QuadSetTopologyContainer,
    TetrahedronSetGeometryAlgorithms,
    TetrahedronSetTopologyContainer,
    TetrahedronSetTopologyModifier,
    TriangleSetGeometryAlgorithms,
    TriangleSetTopologyContainer,
    TriangleSetTopologyModifier,
)
from sofa_softctl.runtime.components.topology.mesh_topology import MeshTopology
from sofa_softctl.runtime.components.topology.regular_grid import RegularGridTopology
from sofa_softctl.runtime.components.topology.tetra_to_triangle import (
    Tetra2TriangleTopologicalMapping,
)
from sofa_softctl.runtime.components.visual.inert import (
    AddDataRepository,
    AttachBodyButtonSetting,
    BackgroundSetting,
    DefaultVisualManagerLoop,
    DirectionalLight,
    InteractiveCamera,
    LightManager,
    OglModel,
    OglSceneFrame,
    PositionalLight,
    RequiredPlugin,
    ViewerSetting,
    VisualGrid,
    VisualModel,
    VisualStyle,
)
from sofa_softctl.runtime.core.component import Component

CLASSES: tuple[type[Component], ...] = (
    AddDataRepository,
    AttachBodyButtonSetting,
    BVHNarrowPhase,
    BackgroundSetting,
    BarycentricCenterEffector,
    BarycentricMapping,
    BoxROI,
    BruteForceBroadPhase,
    CGLinearSolver,
    CableActuator,
    CableConstraint,
    CableEffector,
    CableEquality,
    CableSensor,
    CollisionPipeline,
    CollisionResponse,
    ContactListener,
    DefaultAnimationLoop,
    DefaultVisualManagerLoop,
    DiagonalMass,
    DirectionalLight,
    DiscreteIntersection,
    EdgeSetGeometryAlgorithms,
    EdgeSetTopologyContainer,
    EdgeSetTopologyModifier,
    EulerImplicitSolver,
    FastTetrahedralCorotationalForceField,
    FixedProjectiveConstraint,
    ForcePointActuator,
    FreeMotionAnimationLoop,
    GenerateRigidMass,
    GenericConstraintCorrection,
    GenericConstraintSolver,
    HexahedronSetTopologyContainer,
    IdentityMapping,
    InteractiveCamera,
    JointActuator,
    JointConstraint,
    LightManager,
    LineCollisionModel,
    LinearSolverConstraintCorrection,
    LocalMinDistance,
    MechanicalObject,
    MeshGmshLoader,
    MeshMatrixMass,
    MeshOBJLoader,
    MeshSTLLoader,
    MeshTopology,
    MeshVTKLoader,
    MinProximityIntersection,
    NewProximityIntersection,
    NewtonRaphsonSolver,
    OglModel,
    OglSceneFrame,
    PartialFixedProjectiveConstraint,
    PointCollisionModel,
    PointSetTopologyContainer,
    PositionConstraint,
    PositionEffector,
    PositionEquality,
    PositionalLight,
    QPInverseProblemSolver,
    QuadSetTopologyContainer,
    RegularGridTopology,
    RequiredPlugin,
    RestShapeSpringsForceField,
    RigidMapping,
    RuleBasedContactManager,
    SlidingActuator,
    SparseLDLSolver,
    SphereCollisionModel,
    SphereROI,
    StaticSolver,
    SubsetMapping,
    SubsetMultiMapping,
    SurfacePressureActuator,
    SurfacePressureConstraint,
    SurfacePressureEquality,
    SurfacePressureSensor,
    Tetra2TriangleTopologicalMapping,
    TetrahedronFEMForceField,
    TetrahedronHyperelasticityFEMForceField,
    TetrahedronSetGeometryAlgorithms,
    TetrahedronSetTopologyContainer,
    TetrahedronSetTopologyModifier,
    TriangleCollisionModel,
    TriangleSetGeometryAlgorithms,
    TriangleSetTopologyContainer,
    TriangleSetTopologyModifier,
    UncoupledConstraintCorrection,
    UniformMass,
    ViewerSetting,
    VisualGrid,
    VisualModel,
    VisualStyle,
    VolumeEffector,
    YoungModulusActuator,
)
