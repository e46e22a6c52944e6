"""Registry of the built-in components: classes by family and file."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "collision.intersection": """
            DiscreteIntersection LocalMinDistance MinProximityIntersection NewProximityIntersection
        """.split(),
        "collision.listener": ["ContactListener"],
        "collision.models": """
            LineCollisionModel PointCollisionModel SphereCollisionModel TriangleCollisionModel
        """.split(),
        "collision.pipeline": """
            BVHNarrowPhase BruteForceBroadPhase BruteForceDetection CollisionPipeline
            ParallelBVHNarrowPhase ParallelBruteForceBroadPhase
        """.split(),
        "collision.response": ["CollisionResponse", "RuleBasedContactManager"],
        "constraint.bilateral": """
            BilateralLagrangianConstraint FixedLagrangianConstraint UniformLagrangianConstraint
        """.split(),
        "constraint.cable": ["CableConstraint"],
        "constraint.corrections": """
            GenericConstraintCorrection LinearSolverConstraintCorrection
            UncoupledConstraintCorrection
        """.split(),
        "constraint.generic_solver": ["GenericConstraintSolver", "NNCGConstraintSolver"],
        "constraint.joint": ["JointConstraint"],
        "constraint.lcp_solver": ["LCPConstraintSolver"],
        "constraint.position": ["PositionConstraint"],
        "constraint.precomputed": ["PrecomputedConstraintCorrection"],
        "constraint.sliding": ["SlidingLagrangianConstraint"],
        "constraint.stopper": ["StopperLagrangianConstraint"],
        "constraint.surface_pressure": ["SurfacePressureConstraint"],
        "constraint.unilateral_plane": ["UnilateralPlaneConstraint"],
        "controller.animation_editor": ["AnimationEditor"],
        "controller.communication_controller": ["CommunicationController"],
        "controller.data_variation_limiter": ["DataVariationLimiter"],
        "controller.serial_port_bridge_generic": ["SerialPortBridgeGeneric"],
        "elasticity.assumed_strain": ["AssumedStrainFEMForceField"],
        "elasticity.hexahedron_fem": ["HexahedronFEMForceField", "ParallelHexahedronFEMForceField"],
        "elasticity.tetrahedral_corotational": """
            FastTetrahedralCorotationalForceField ParallelTetrahedronFEMForceField
            TetrahedralCorotationalFEMForceField
        """.split(),
        "elasticity.tetrahedron_fem": ["TetrahedronFEMForceField"],
        "elasticity.tetrahedron_hyperelasticity": ["TetrahedronHyperelasticityFEMForceField"],
        "engine.arithmetic": """
            AverageCoord DifferenceEngine MathOp NormEngine SumEngine
        """.split(),
        "engine.extrude": ["ExtrudeQuadsAndGenerateHexas"],
        "engine.generate_rigid_mass": ["GenerateRigidMass"],
        "engine.merge": ["MergeMeshes", "MergePoints", "MergeSets", "MergeVectors"],
        "engine.meshes": ["GenerateGrid", "MeshSubsetEngine", "NormalsFromPoints"],
        "engine.transform": ["TransformEngine", "TransformPosition"],
        "engine.values": """
            IndexValueMapper Indices2ValuesMapper IndicesFromValues PointsFromIndices ROIValueMapper
            ValuesFromIndices
        """.split(),
        "engine.volume": ["VolumeFromTetrahedrons", "VolumeFromTriangles"],
        "exporter.exporters": """
            BlenderExporter MeshExporter STLExporter VTKExporter VisualModelOBJExporter
        """.split(),
        "force.damping": ["DiagonalVelocityDampingForceField", "UniformVelocityDampingForceField"],
        "force.given": ["ConstantForceField", "Gravity", "LinearForceField"],
        "force.pressure": """
            EdgePressureForceField QuadPressureForceField TrianglePressureForceField
        """.split(),
        "force.shapes": """
            ConicalForceField EllipsoidForceField PlaneForceField SphereForceField
        """.split(),
        "force.surface_pressure": ["SurfacePressureForceField"],
        "loader.mesh_creators": ["GridMeshCreator", "StringMeshCreator"],
        "loader.mesh_loader": """
            GIDMeshLoader MeshGmshLoader MeshOBJLoader MeshOffLoader MeshSTLLoader MeshVTKLoader
        """.split(),
        "loader.sphere_loader": ["SphereLoader"],
        "mapping.barycentric": ["BarycentricMapping"],
        "mapping.copies": ["IdentityMapping", "SubsetMapping", "SubsetMultiMapping"],
        "mapping.distance": ["DistanceMapping"],
        "mapping.matrix_mapper": ["MechanicalMatrixMapper"],
        "mapping.rigid": ["RigidMapping"],
        "mass.topological": ["DiagonalMass", "MeshMatrixMass"],
        "mass.uniform": ["UniformMass"],
        "playback.monitor": ["Monitor"],
        "playback.read_state": ["CompareState", "ReadState"],
        "playback.write_state": ["WriteState"],
        "projective.attach": ["AttachProjectiveConstraint"],
        "projective.fixed": """
            FixedProjectiveConstraint FixedTranslationProjectiveConstraint
            PartialFixedProjectiveConstraint
        """.split(),
        "projective.fixed_rotation": ["FixedRotationProjectiveConstraint"],
        "projective.given_motion": """
            AffineMovementProjectiveConstraint LinearVelocityProjectiveConstraint
            OscillatorProjectiveConstraint
        """.split(),
        "projective.linear_movement": """
            LinearMovementProjectiveConstraint PartialLinearMovementProjectiveConstraint
        """.split(),
        "projective.lines": """
            DirectionProjectiveConstraint FixedPlaneProjectiveConstraint LineProjectiveConstraint
            PlaneProjectiveConstraint PointProjectiveConstraint
        """.split(),
        "roi.mesh": ["MeshROI"],
        "roi.sets": ["ComplementaryROI", "MeshBoundaryROI", "NearestPointROI"],
        "roi.shapes": ["BoxROI", "PairBoxROI", "PlaneROI", "SphereROI"],
        "softrobots_inverse.actuators": ["CableActuator", "CableEquality", "PositionEquality"],
        "softrobots_inverse.directed": ["ForcePointActuator", "SlidingActuator"],
        "softrobots_inverse.effectors": """
            BarycentricCenterEffector CableEffector CableSensor PositionEffector VolumeEffector
        """.split(),
        "softrobots_inverse.force_surface": ["ForceSurfaceActuator"],
        "softrobots_inverse.joint": ["JointActuator"],
        "softrobots_inverse.pressure": """
            SurfacePressureActuator SurfacePressureEquality SurfacePressureSensor
        """.split(),
        "softrobots_inverse.qp_solver": ["QPInverseProblemSolver"],
        "softrobots_inverse.young_modulus": ["YoungModulusActuator"],
        "solver.conjugate_gradient": ["CGLinearSolver", "ParallelCGLinearSolver"],
        "solver.default_loop": ["DefaultAnimationLoop", "MultiStepAnimationLoop"],
        "solver.direct": """
            AsyncSparseLDLSolver BTDLinearSolver CholeskySolver EigenSimplicialLDLT
            EigenSimplicialLLT EigenSparseLU EigenSparseQR PrecomputedLinearSolver SVDLinearSolver
            SparseCholeskySolver SparseLDLSolver SparseLUSolver
        """.split(),
        "solver.euler_implicit": ["EulerImplicitSolver"],
        "solver.explicit": """
            CentralDifferenceSolver EulerExplicitSolver RungeKutta2Solver RungeKutta4Solver
        """.split(),
        "solver.free_motion_loop": ["FreeMotionAnimationLoop"],
        "solver.linear_system": """
            AMDOrderingMethod AssemblingMatrixSystem COLAMDOrderingMethod CompositeLinearSystem
            ConstantSparsityPatternSystem ConstantSparsityProjectionMethod MatrixFreeSystem
            MatrixLinearSystem MatrixProjectionMethod NaturalOrderingMethod RotationMatrixSystem
        """.split(),
        "solver.minimal_residual": ["MinResLinearSolver"],
        "solver.newton_raphson": ["NewtonRaphsonSolver"],
        "solver.preconditioned": ["PCGLinearSolver"],
        "solver.preconditioners": """
            BlockJacobiPreconditioner JacobiPreconditioner SSORPreconditioner WarpPreconditioner
        """.split(),
        "solver.static": ["StaticSolver"],
        "spring.bending": ["QuadularBendingSprings", "TriangularBendingSprings"],
        "spring.linear": ["ParallelSpringForceField", "SpringForceField"],
        "spring.mesh": """
            MeshSpringForceField ParallelMeshSpringForceField RegularGridSpringForceField
        """.split(),
        "spring.rest_shape": ["PolynomialRestShapeSpringsForceField", "RestShapeSpringsForceField"],
        "spring.vector": ["VectorSpringForceField"],
        "state.mechanical_object": ["MechanicalObject"],
        "topology.beside": """
            EdgeSetGeometryAlgorithms EdgeSetTopologyModifier HexahedronSetGeometryAlgorithms
            HexahedronSetTopologyModifier PointSetGeometryAlgorithms PointSetTopologyModifier
            QuadSetGeometryAlgorithms QuadSetTopologyModifier TetrahedronSetGeometryAlgorithms
            TetrahedronSetTopologyModifier TopologyAlgorithms TriangleSetGeometryAlgorithms
            TriangleSetTopologyModifier
        """.split(),
        "topology.containers": """
            EdgeSetTopologyContainer HexahedronSetTopologyContainer PointSetTopologyContainer
            QuadSetTopologyContainer TetrahedronSetTopologyContainer TriangleSetTopologyContainer
        """.split(),
        "topology.cube": ["CubeTopology", "SphereQuadTopology"],
        "topology.grid": """
            CylinderGridTopology GridTopology RegularGridTopology SphereGridTopology
        """.split(),
        "topology.mappings": """
            Edge2QuadTopologicalMapping Hexa2QuadTopologicalMapping Hexa2TetraTopologicalMapping
            Quad2TriangleTopologicalMapping Tetra2TriangleTopologicalMapping
            Triangle2EdgeTopologicalMapping
        """.split(),
        "topology.mesh_topology": ["MeshTopology"],
        "topology.sparse_grid": ["SparseGridTopology"],
        "visual.cameras": ["Camera", "InteractiveCamera", "RecordedCamera"],
        "visual.inert": """
            AddFrameButtonSetting AddRecordedCameraButtonSetting AttachBodyButtonSetting
            BackgroundSetting ClipPlane CompositingVisualLoop ConstraintAttachButtonSetting
            CylinderVisualModel DataDisplay DefaultVisualManagerLoop DirectionalLight
            FileMessageHandlerComponent FixPickedParticleButtonSetting InfoComponent
            InputEventReader LightManager LineAxis MechanicalStateController MessageHandlerComponent
            OglColorMap OglFloat2Attribute OglFloat2Variable OglFloat3Attribute OglFloat3Variable
            OglFloat4Attribute OglFloat4Variable OglFloatAttribute OglFloatVariable
            OglFloatVector2Variable OglFloatVector3Variable OglFloatVector4Variable
            OglFloatVectorVariable OglInt2Attribute OglInt2Variable OglInt3Attribute OglInt3Variable
            OglInt4Attribute OglInt4Variable OglIntAttribute OglIntVariable OglIntVector2Variable
            OglIntVector3Variable OglIntVector4Variable OglIntVectorVariable OglLabel
            OglMatrix2Variable OglMatrix2x3Variable OglMatrix2x4Variable OglMatrix3Variable
            OglMatrix3x2Variable OglMatrix3x4Variable OglMatrix4Variable OglMatrix4VectorVariable
            OglMatrix4x2Variable OglMatrix4x3Variable OglOITShader OglRenderingSRGB OglSceneFrame
            OglShader OglShaderDefineMacro OglShadowShader OglTexture OglTexture2D OglTexturePointer
            OglUInt2Attribute OglUInt3Attribute OglUInt4Attribute OglUIntAttribute OglViewport
            OrderIndependentTransparencyManager PauseAnimationOnEvent PointSplatModel
            PositionalLight PostProcessManager SlicedVolumetricModel SofaDefaultPathSetting
            SpotLight StartNavigationButtonSetting StatsSetting TextureInterpolation TrailRenderer
            ViewerSetting Visual3DText VisualBoundingBox VisualGrid VisualManagerPass
            VisualManagerSecondaryPass VisualStyle VisualTransform VisualVectorField
        """.split(),
        "visual.ogl_model": """
            MergeVisualModels OglModel OglShaderVisualModel VisualModel
        """.split(),
        "visual.settings": """
            AddDataRepository AddPluginRepository APIVersion RequiredPlugin
        """.split(),
    },
)
