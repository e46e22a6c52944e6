"""Masses of bodies."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass
from sofa_softctl.runtime.helper.message import complaints
from sofa_softctl.runtime.simulation import simulation

MASS = [2.0, 3.0, 1.0, 0.1, 0.0, 0.1, 2.0, 0.0, 0.0, 0.0, 3.0]
TEXT = "2 3 [1 0.1 0,0.1 2 0,0 0 3]"
H = 0.01


@pytest.fixture
def body(root):
    """Makes two bodies with a mass."""

    def make(velocity=None, **values):
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver")
        node.addObject("SparseLDLSolver", name="solver")
        node.addObject(
            "MechanicalObject", name="dofs", template="Rigid3",
            position=[[0, 0, 0, 0, 0, 0, 1]] * 2, velocity=velocity or [[0] * 6],
        )  # fmt: skip
        node.addObject("UniformMass", name="mass", **values)
        simulation.init(root)
        return node

    return make


@pytest.mark.parametrize("given", [MASS, TEXT, "2 3 1 0.1 0 0.1 2 0 0 0 3"])
def test_mass_volume_and_inertia_are_read_in_every_spelling(body, given):
    """Scripts see the text that SOFA gives them."""
    node = body(vertexMass=given)
    assert node.mass.vertexMass.value == TEXT
    assert node.mass.totalMass.value == 4.0


def test_a_mass_alone_gets_the_unit_matrix(body):
    node = body(totalMass=6.0)
    assert node.mass.vertexMass.value == "3 1 [1 0 0,0 1 0,0 0 1]"


def test_total_mass_wins_and_keeps_the_inertia_per_mass(body):
    """As in SOFA: the moment is the given matrix times the new mass."""
    node = body(totalMass=10.0, vertexMass=MASS)
    simulation.animateNSteps(node.getRoot(), 1)
    block = node.solver.A().toarray()[3:6, 3:6]
    assert block == pytest.approx(5.0 * np.reshape(MASS[2:], (3, 3)))
    assert node.solver.A().toarray()[:3, :3] == pytest.approx(5.0 * np.eye(3))


def test_bodies_fall_and_do_not_begin_to_turn(root, body):
    """v = n h g and x = h^2 g n (n + 1) / 2 after n steps."""
    root.gravity = [0.0, -9.81, 1.0]
    node = body(vertexMass=MASS)
    simulation.animateNSteps(root, 6)
    fall = H**2 * 21.0 * np.array([0.0, -9.81, 1.0])
    assert node.dofs.position.value[1] == pytest.approx([*fall, 0, 0, 0, 1], abs=1e-14)


def test_a_free_body_keeps_its_angular_velocity(root, body):
    """SOFA's mass has no gyroscopic moment: without a moment no change, whatever the inertia."""
    node = body(velocity=[[0, 0, 0, 1, 2, 3]], vertexMass=MASS)
    simulation.animateNSteps(root, 20)
    assert node.dofs.velocity.value[0] == pytest.approx([0, 0, 0, 1, 2, 3], abs=1e-14)


def test_rayleigh_damping_slows_turns_as_it_slows_ways(root, body):
    """v -> v / (1 + h alpha) each step."""
    node = body(velocity=[[1, 0, 0, 1, 2, 3]], vertexMass=MASS)
    node.getObject("EulerImplicitSolver").rayleighMass.value = 5.0
    simulation.animateNSteps(root, 3)
    assert node.dofs.velocity.value[0] == pytest.approx(
        np.array([1, 0, 0, 1, 2, 3]) / (1.0 + H * 5.0) ** 3, rel=1e-12
    )


def test_separate_gravity_is_the_same_fall(root, body):
    """With implicit Euler and nothing else gravity before or after the solve is one."""
    root.gravity = [1.0, -9.81, 0.0]
    node = body(vertexMass=MASS, separateGravity=True)
    simulation.animateNSteps(root, 1)
    assert node.dofs.velocity.value[0] == pytest.approx([H, -9.81 * H, 0, 0, 0, 0], abs=1e-15)


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        ([1, 2, 3], "takes one number, for bodies also mass, volume and nine numbers"),
        ([1, 1, 1, 2, 0, 0, 1, 0, 0, 0, 1], "needs a symmetric, positive definite inertia"),
        ([1, 1, 1, 0, 0, 0, -1, 0, 0, 0, 1], "needs a symmetric, positive definite inertia"),
        ([-1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1], "needs a positive mass, got -2"),
    ],
)
def test_a_mass_that_no_body_has_is_an_error(body, mass, message):
    with pytest.raises(SceneError, match=message):
        body(vertexMass=mass)


def test_points_have_no_inertia(root):
    root.addObject("MechanicalObject", position=[[0, 0, 0]])
    root.addObject("UniformMass", vertexMass=MASS)
    with pytest.raises(SceneError, match="'vertexMass' with inertia, but acts on no Rigid3 state"):
        simulation.init(root)


def test_the_text_holds_every_digit():
    """What is linked as a text loses nothing."""
    mass = RigidMass(1.0 / 3.0, 2.0 / 7.0, tuple(np.random.default_rng(0).normal(size=9)))
    assert RigidMass.of(str(mass)) == mass


def test_a_scaled_mass_scales_the_moments_of_inertia_too(body):
    mass = body(vertexMass=MASS).mass
    before = mass.assembleMMatrix().toarray()
    mass.scale(0.5)
    assert mass.assembleMMatrix().toarray() == pytest.approx(0.5 * before)


@pytest.mark.parametrize(
    "given",
    [
        [[1.5, 2.0, [4, 0, 0, 0, 5, 0, 0, 0, 6]]],
        [1.5, 2.0, [[4, 0, 0], [0, 5, 0], [0, 0, 6]]],
        "1.5 2 [4 0 0,0 5 0,0 0 6]",
        "1.5 2 4 0 0 0 5 0 0 0 6",
    ],
)
def test_a_body_may_be_nested_as_people_write_it(root, given):
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", template="Rigid3d")
    mass = node.addObject("UniformMass", vertexMass=given)
    simulation.init(root)
    assert mass.masses.tolist() == [[1.5]]
    assert mass.moments[0].tolist() == [[6.0, 0, 0], [0, 7.5, 0], [0, 0, 9.0]]


RIGID = """Xsp 3.0
vertexMass 5
volm 8.5
inrt 1 0.1 0 0.1 2 0 0 0 3
# inrt 9 0 0 0 9 0 0 0 9
center 1 2 3
density 4
"""


@pytest.mark.parametrize(
    "given, mass",
    [
        ({}, 5.0),
        ({"totalMass": 8.0}, 5.0),
        ({"vertexMass": 3.0}, 5.0),
        ({"vertexMass": 3.0, "totalMass": 8.0}, 4.0),
    ],
)
def test_the_mass_of_a_file_gives_way_to_total_mass_beside_vertex_mass_alone(
    body, tmp_path, given, mass
):
    """Found in SOFA v25.06 for the same four; its two bodies share totalMass."""
    (tmp_path / "body.rigid").write_text(RIGID)
    node = body(filename=str(tmp_path / "body.rigid"), **given)
    assert node.mass.vertexMass.value == f"{mass:g} 8.5 [1 0.1 0,0.1 2 0,0 0 3]"
    assert node.mass.totalMass.value == 2.0 * mass
    simulation.animateNSteps(node.getRoot(), 1)
    assert node.solver.A().toarray()[3:6, 3:6] == pytest.approx(
        mass * np.array([[1, 0.1, 0], [0.1, 2, 0], [0, 0, 3]])
    )


def test_a_file_without_a_mass_keeps_that_of_the_scene(body, tmp_path):
    (tmp_path / "body.rigid").write_text(RIGID.replace("vertexMass", "mass"))
    node = body(filename=str(tmp_path / "body.rigid"), totalMass=8.0)
    assert node.mass.vertexMass.value == "4 8.5 [1 0.1 0,0.1 2 0,0 0 3]"


@pytest.mark.parametrize(
    "text, problem",
    [
        (None, "there is no such file .No such file or directory.. Files that come with SOFA"),
        ("Xsp\ninrt 1 2\n", "line 2 of .*: expected 'inrt' and 9 numbers, got 'inrt 1 2'"),
        ("Xsp\nvolm x\n", "line 2 of .*: expected 'volm' and 1 numbers, got 'volm x'"),
    ],
)
def test_a_file_that_is_none_is_an_error(body, tmp_path, text, problem):
    if text is not None:
        (tmp_path / "body.rigid").write_text(text)
    with pytest.raises(SceneError, match=problem):
        body(filename=str(tmp_path / "body.rigid"))


@pytest.mark.usefixtures("tolerant")
def test_a_file_with_a_mass_of_points_is_not_read(root, tmp_path):
    """As in SOFA, which says so; the total mass is that of the scene."""
    node = root.addChild("points")
    node.addObject("MechanicalObject", position=[[0, 0, 0]])
    mass = node.addObject("UniformMass", filename=str(tmp_path / "body.rigid"), totalMass=2.0)
    with complaints() as found:
        simulation.init(root)
    assert "acts on no Rigid3 state" in str(found[0])
    assert mass.vertexMass.value == 2.0
