"""ForceSurfaceActuator."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

H = 0.01
SQUARE = [[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]


@pytest.fixture
def pressed(root, integrated):
    """Four free particles of mass 1, the corners of a square, with goals of their height."""

    def make(goals=(0.0,) * 4, mesh=None, **values):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", epsilon=0.0)
        node = integrated(root, "body", SQUARE)
        node.addObject("MeshTopology", **({"quads": [[0, 1, 2, 3]]} if mesh is None else mesh))
        node.addObject("UniformMass", vertexMass=1.0)
        node.addObject("LinearSolverConstraintCorrection")
        given = {"centers": [[0, 0, 0]], "radii": [2.0], **values}
        force = node.addObject("ForceSurfaceActuator", **given)
        node.addObject(
            "PositionEffector",
            indices=range(4),
            effectorGoal=np.column_stack([np.array(SQUARE)[:, :2], goals]),
            useDirections=[0, 0, 1],
        )
        simulation.init(root)
        return node.dofs, force

    return make


def test_a_force_falls_with_the_distance_from_the_centre(pressed, root):
    """Along the normal (0, 0, 1); at distances 0, 1, sqrt 2, 1 of the radius 2 by the shares 1,
    1/2, 1 - 1 / sqrt 2 and 1/2, which are also the goals: lambda = 1 / h."""
    shares = [1.0, 0.5, 1.0 - 0.5**0.5, 0.5]
    dofs, force = pressed(goals=shares)
    simulation.animateNSteps(root, 1)
    assert force.directions.value == pytest.approx(np.array([[0.0, 0, 1]]))
    assert dofs.position.value[:, 2] == pytest.approx(shares)
    assert force.force.value == pytest.approx([1.0 / H])
    assert force.displacement.value == pytest.approx([np.dot(shares, shares)])


def test_without_spheres_nothing_acts_and_the_solver_says_so(pressed, root, caplog, tolerant):
    _, force = pressed(centers=[], radii=[])
    simulation.animateNSteps(root, 1)
    force.reinit()
    simulation.animateNSteps(root, 1)
    assert "does nothing without 'centers'" in caplog.text
    assert caplog.text.count("has effectors, but no actuator that acts") == 1


def test_the_centre_goes_on_by_delta_and_is_back_after_a_reset(pressed, root):
    _, force = pressed(goals=[0.2, 0.0, 0.0, 0.0], radii=[0.5])
    simulation.animateNSteps(root, 1)
    assert force.centers.value == pytest.approx(np.array([[0.0, 0.0, 0.2]]))
    simulation.reset(root)
    assert force.centers.value.tolist() == [[0.0, 0.0, 0.0]]
    assert force.force.value.tolist() == [0.0]
    simulation.animateNSteps(root, 1)
    assert force.centers.value == pytest.approx(np.array([[0.0, 0.0, 0.2]]))


@pytest.mark.parametrize(
    ("update", "expected"), [(False, [0.0, 0.0, 1.0]), (True, [0.0, 1.0, 0.0])]
)
def test_normals_follow_the_surface_only_where_asked(pressed, root, update, expected):
    dofs, force = pressed(updateNormals=update)
    dofs.position.value = [[0.0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 0, 0]]
    simulation.animateNSteps(root, 1)
    assert force.directions.value == pytest.approx(np.array([expected]))


@pytest.mark.parametrize(
    ("values", "forces"),
    [
        ({"maxForce": 3.0}, [3.0, 3.0]),
        ({"maxForceVariation": 4.0}, [4.0, 8.0]),
        ({"maxDisplacement": 0.05}, [0.05 / H, 0.05 / H / 0.9**2]),
    ],
)
def test_limits_hold_for_every_sphere(pressed, root, values, forces):
    """Two spheres of one node each; SOFA has the limits for the first alone.

    Where delta is limited to 0.05, a tenth of the radius, the share falls to 0.9 after a step.
    """
    _, force = pressed(
        goals=[9.0, 9.0, 0.0, 0.0], centers=[[0, 0, 0], [1, 0, 0]], radii=[0.5], **values
    )
    for expected in forces:
        simulation.animateNSteps(root, 1)
        assert force.force.value == pytest.approx([expected] * 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"centers": []}, "does nothing without 'centers'"),
        ({"centers": [[5, 5, 5]]}, r"does nothing at \[5.0, 5.0, 5.0\]: no node is within"),
        ({"radii": [0.0]}, "no node is within the radius of 0"),
        ({"radii": [1.0, 2.0]}, "has 2 'radii' for 1 centers"),
        ({"triangles": [[0, 1, 4]]}, "has 'triangles' with vertex 4"),
        ({"position": [[0, 0, 0]]}, "has 1 points in 'position', but .* has 4 nodes"),
    ],
)
def test_what_is_no_surface_or_sphere_is_a_fault(pressed, values, message):
    with pytest.raises(SceneError, match=message):
        pressed(**values)
