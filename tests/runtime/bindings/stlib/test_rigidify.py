"""stlib3.physics.mixedmaterial: deformable objects that are rigid in part."""

import numpy as np
import pytest


@pytest.fixture
def beam(root, meshes):
    from stlib3.physics.deformable import ElasticMaterialObject

    root.addObject("DefaultAnimationLoop")
    mesh = str(meshes / "beam.vtk")
    return ElasticMaterialObject(
        name="beam", volumeMeshFileName=mesh, youngModulus=400.0, totalMass=0.04
    )


def groups(beam):
    z = beam.container.position.value[:, 2]
    return [np.flatnonzero(z == 0.0).tolist(), np.flatnonzero(z == 90.0).tolist()]


@pytest.mark.parametrize("attached", [False, True])
def test_points_of_a_rigid_group_keep_their_distances(root, beam, graph, run, attached):
    """The foot is held, the tip moves as one body: to rounding."""
    from stlib3.physics.mixedmaterial import Rigidify
    from stlib3.solver import DefaultSolver

    model = root.addChild("Model")
    if attached:
        model.addChild(beam)
    foot, tip = groups(beam)
    frames = [[0.0, 30.0, 0.0], [10.0, 10.0, 90.0, 0.0, 0.0, 0.0, 1.0]]
    node = Rigidify(model, beam, groupIndices=[foot, tip], frames=frames, name="Rigidified")
    assert graph(node.RigidParts) == [
        "MechanicalObject dofs",
        {
            "RigidifiedParticules": [
                "MechanicalObject dofs",
                "RigidMapping mapping",
                {
                    "beam": [
                        "MeshVTKLoader loader",
                        "TetrahedronSetTopologyContainer container",
                        "MechanicalObject dofs",
                        "UniformMass mass",
                        "TetrahedronFEMForceField forcefield",
                        "SubsetMultiMapping mapping",
                    ]
                },
            ]
        },
    ]
    half = np.radians(15.0)
    assert node.RigidParts.dofs.position.value == pytest.approx(
        np.array([[10, 10, 0, 0, np.sin(half), 0, np.cos(half)], [10, 10, 90, 0.0, 0.0, 0.0, 1.0]])
    )
    assert node.DeformableParts.beam is node.RigidParts.RigidifiedParticules.beam
    node.RigidParts.addObject("FixedProjectiveConstraint", indices=0)
    simulation = root.addChild("Simulation")
    DefaultSolver(simulation)
    simulation.addChild(node)
    root.gravity = [0.0, -9810.0, 0.0]
    before = beam.container.position.value.copy()
    run(root)
    after = beam.dofs.position.array()
    assert after[foot] == pytest.approx(before[foot], abs=1e-9)
    assert after[tip, 1].max() < before[tip, 1].max() - 0.1
    spans = [np.linalg.norm(rows[tip][:, None] - rows[tip], axis=2) for rows in (before, after)]
    assert spans[1] == pytest.approx(spans[0], abs=1e-9)


def test_names_and_frames_by_default(root, beam):
    from stlib3.physics.mixedmaterial import Rigidify

    node = Rigidify(root, beam, groupIndices=groups(beam))
    assert node.getName() == "beam"
    places = node.RigidParts.dofs.position.value
    assert places == pytest.approx(np.array([[10, 10, 0, 0, 0, 0, 1], [10, 10, 90, 0, 0, 0, 1.0]]))


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([[0.0, 0.0, 0.0]], "one frame for each body: got 1 frames and 2 groups"),
        ([[0.0, 0.0]] * 2, r"three angles or a quaternion.*got \[0.0, 0.0\]"),
    ],
)
def test_frames_that_do_not_fit_are_refused(root, beam, frames, message):
    from stlib3.physics.mixedmaterial import Rigidify

    with pytest.raises(ValueError, match=message):
        Rigidify(root, beam, groupIndices=groups(beam), frames=frames)
