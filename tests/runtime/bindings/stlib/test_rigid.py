"""stlib3.physics.rigid: rigid objects, and the meshes of ours in place of SOFA's."""

import numpy as np
import pytest

from sofa_softctl.runtime.bindings.stlib.shapes import MESHES
from sofa_softctl.runtime.mesh.formats.read import read_mesh


def volume(path, kind):
    """Of a closed surface, by the divergence theorem, and its points."""
    mesh = read_mesh(path, kind)
    faces = [*mesh.triangles.tolist()]
    faces += [half for a, b, c, d in mesh.quads.tolist() for half in ([a, b, c], [a, c, d])]
    edges = {(f[i], f[(i + 1) % 3]) for f in faces for i in range(3)}
    assert {(b, a) for a, b in edges} == edges and len(edges) == 3 * len(faces)  # closed, oriented
    a, b, c = mesh.positions[np.array(faces)].swapaxes(0, 1)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0, mesh.positions


def test_the_floor_is_a_closed_box_of_the_size_of_sofas():
    found, points = volume(f"{MESHES}/mesh/floor.obj", "obj")
    assert found == pytest.approx(149.34458**2 * 4.0)
    assert points[:, 1].max() == -1.32967 and len(points) == 50


def test_the_ball_is_a_closed_surface_on_the_unit_sphere():
    """Its volume is below 4 pi / 3 by the square of half its cells' angle, some 4 per cent."""
    found, points = volume(f"{MESHES}/mesh/ball.obj", "obj")
    assert 0.95 * 4.0 * np.pi / 3.0 < found < 4.0 * np.pi / 3.0
    assert np.linalg.norm(points, axis=1) == pytest.approx(1.0) and len(points) == 242


COLLISION = [
    "MeshOBJLoader loader",
    "MeshTopology MeshTopology",
    "MechanicalObject MechanicalObject",
    "TriangleCollisionModel TriangleCollisionModel",
    "LineCollisionModel LineCollisionModel",
    "PointCollisionModel PointCollisionModel",
    "RigidMapping RigidMapping",
]
VISUAL = [
    "RequiredPlugin RequiredPlugin",
    "MeshOBJLoader loader",
    "OglModel OglModel",
    "RigidMapping RigidMapping",
]


@pytest.mark.parametrize("kind", ["Cube", "Sphere", "Floor"])
def test_a_rigid_shape(root, graph, kind):
    from stlib3.physics import rigid

    made = getattr(rigid, kind)(root, translation=[1.0, 2.0, 3.0], totalMass=2.0)
    assert graph(root) == [
        {
            kind: [
                "MechanicalObject mstate",
                "UniformMass mass",
                "EulerImplicitSolver EulerImplicitSolver",
                "CGLinearSolver CGLinearSolver",
                "Correction correction",
                {"collision": COLLISION},
                {"visual": VISUAL},
            ]
        }
    ]
    assert made.mstate.translation2.value.tolist() == [1.0, 2.0, 3.0]
    assert len(made.collision.loader.position.value) in (8, 242, 50)


def test_a_static_object_has_no_solvers_and_its_surface_does_not_move(root, graph):
    from stlib3.physics.rigid import Floor

    floor = Floor(root, name="Plane", isAStaticObject=True, uniformScale=2.0, collisionGroup=1)
    assert graph(floor)[:3] == [
        "MechanicalObject mstate",
        "UniformMass mass",
        {"collision": COLLISION},
    ]
    for name in ("Triangle", "Line", "Point"):
        model = floor.collision.getObject(f"{name}CollisionModel")
        assert (model.moving.value, model.simulated.value) == (False, False)
        assert list(model.group.value) == [1]
    assert floor.collision.loader.scale.value[0] == 2.0


def test_a_rigid_object_gets_its_surface_later(root, meshes, graph):
    from stlib3.physics.rigid import RigidObject

    body = RigidObject(name="body", parent=root)
    assert len(body.children) == 0
    body.addCollisionModel(str(meshes / "skin.obj"))
    body.addVisualModel(str(meshes / "skin.obj"))
    assert graph(body)[5:] == [{"collision": COLLISION}, {"visual": VISUAL}]


def test_a_cube_falls_and_turns(root, run):
    """y = y0 - g h^2 n (n + 1) / 2 of n implicit steps; conjugate gradients stop at 1e-5."""
    from stlib3.physics.rigid import Cube

    root.addObject("DefaultAnimationLoop")
    root.gravity = [0.0, -10.0, 0.0]
    cube = Cube(root, totalMass=0.3, inertiaMatrix=[1.0, 0, 0, 0, 2.0, 0, 0, 0, 3.0])
    assert cube.mass.vertexMass.value is not None
    run(root, 5)
    assert cube.mstate.position.array()[0, 1] == pytest.approx(-10.0 * 1e-4 * 15.0, rel=1e-4)
    points = cube.collision.MechanicalObject.position.array()
    assert points.mean(axis=0)[1] == pytest.approx(cube.mstate.position.array()[0, 1], abs=1e-6)


def test_a_cube_comes_to_rest_on_a_floor(root, run, tolerant):
    """Contact at the contact distance above the floor's top, -1.32967; to 1e-3 of the solver."""
    from stlib3.physics.rigid import Cube, Floor
    from stlib3.scene import ContactHeader, MainHeader
    from stlib3.solver import DefaultSolver

    MainHeader(root, gravity=[0.0, -9.81, 0.0])
    ContactHeader(root, alarmDistance=0.3, contactDistance=0.1, frictionCoef=0.5)
    DefaultSolver(root)
    floor = Floor(root, isAStaticObject=True)
    floor.addObject("FixedProjectiveConstraint", indices=0)
    floor.addObject("UncoupledConstraintCorrection")
    cube = Cube(root, translation=[0.3, -0.2, 0.2])
    cube.addObject("UncoupledConstraintCorrection")
    run(root, 40)
    bottom = cube.collision.MechanicalObject.position.array()[:, 1].min()
    assert bottom == pytest.approx(-1.32967 + 0.1, abs=2e-3)


def test_a_rigid_object_moves_where_constraints_are_solved(root, run):
    """y = y0 - g h^2 n (n + 1) / 2: it gets the correction without which nothing moves there."""
    from stlib3.physics.rigid import Cube
    from stlib3.scene import ContactHeader

    root.gravity = [0.0, -10.0, 0.0]
    cube = Cube(root, translation=[0.0, 50.0, 0.0])  # before the loop is there
    ContactHeader(root, alarmDistance=0.3, contactDistance=0.1)
    run(root, 5)
    assert cube.mstate.position.array()[0, 1] == pytest.approx(50.0 - 10.0 * 1e-4 * 15.0, rel=1e-6)


@pytest.mark.parametrize("own", [True, False])
def test_a_rigid_object_that_is_corrected_gets_no_second_correction(root, graph, run, own):
    from stlib3.physics.rigid import RigidObject
    from stlib3.scene import ContactHeader

    ContactHeader(root, alarmDistance=0.3, contactDistance=0.1)
    body = RigidObject(parent=root)
    if own:
        body.addObject("LinearSolverConstraintCorrection", name="own")
    else:
        root.addObject("GenericConstraintCorrection")
    run(root, 1)
    corrections = [entry for entry in graph(body) if "ConstraintCorrection" in entry]
    assert corrections == (["LinearSolverConstraintCorrection own"] if own else [])


def test_without_free_motion_a_rigid_object_gets_no_correction(root, graph, run):
    from stlib3.physics.rigid import RigidObject

    root.addObject("DefaultAnimationLoop")
    body = RigidObject(parent=root)
    run(root, 1)
    assert not any("ConstraintCorrection" in entry for entry in graph(body))
