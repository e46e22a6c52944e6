"""Values that make no sense, with which SOFA goes on: so does the runtime, with a warning."""

import numpy as np
import pytest

from sofa_softctl.runtime.helper.message import complaints

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.fixture
def body(root, integrated, run):
    """Makes a tetrahedron with a component, and gives that."""

    def make(kind, mass=("UniformMass", {"totalMass": 1.0}), **values):
        root.addObject("DefaultAnimationLoop")
        node = integrated(root, "body", POINTS)
        node.addObject("MeshTopology", tetrahedra=[[0, 1, 2, 3]])
        if mass is not None:
            node.addObject(mass[0], **mass[1])
        made = node.addObject(kind, name="made", **values)
        run(root)
        return made

    return make


@pytest.mark.parametrize(
    ("values", "data", "expected"),
    [
        ({"youngModulus": -3.0, "poissonRatio": 0.3}, "youngModulus", [5000.0]),
        ({"youngModulus": 3.0, "poissonRatio": 0.5}, "poissonRatio", [0.45]),
        ({"youngModulus": 3.0, "poissonRatio": -0.1}, "poissonRatio", [0.45]),
    ],
)
def test_a_modulus_out_of_range_is_the_default(values, data, expected, body, tolerant):
    with complaints() as said:
        field = body("TetrahedronFEMForceField", **values)
    assert field.findData(data).value.tolist() == expected
    assert len(said) == 1 and f"needs {data}" in str(said[0])


@pytest.mark.parametrize("kind", ["DiagonalMass", "MeshMatrixMass"])
def test_a_negative_mass_is_one(kind, body, tolerant):
    with complaints() as said:
        mass = body(kind, mass=None, totalMass=-2.0)
    assert mass.totalMass.value == pytest.approx(1.0)
    assert "needs a positive mass, got -2" in str(said[0])


def test_movements_without_a_time_do_not_count(body, root, run, tolerant):
    """The one of the last time ends it, so the node is free from then on."""
    with complaints() as said:
        body(
            "LinearMovementProjectiveConstraint",
            indices=[0],
            keyTimes=[0, 0.02],
            movements=[[0, 0, 0], [2, 0, 0], [9, 9, 9]],
        )
        run(root, 2)
    assert [str(text).partition("has ")[2] for text in said][0] == (
        "2 'keyTimes' and 3 'movements': give as many."
    )
    assert root.body.dofs.position.value[0, 1] == 0.0


def test_attached_nodes_without_a_partner_are_free(body, tolerant):
    with complaints() as said:
        attached = body(
            "AttachProjectiveConstraint",
            object1="@.",
            object2="@.",
            indices1=[0, 1],
            indices2=[2],
            constraintFactor=[],
        )
    assert attached.nodes().tolist() == [2]
    assert "has 2 indices1, but 1 indices2" in str(said[0])


def test_a_part_of_a_solver_s_matrix_cannot_be_left_out(body, tolerant):
    with complaints() as said:
        body("MatrixLinearSystem", assembleMass=False)
    assert "has assembleMass=False" in str(said[0])


FORCES = [[5, 0, 0], [0, 7, 0], [0, 0, 9]]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("EllipsoidForceField", {"vradius": [1, 2]}, "needs positive half axes 'vradius'"),
        ("ConicalForceField", {}, "needs a 'coneHeight' that is not zero"),
        ("FixedPlaneProjectiveConstraint", {"direction": [0, 0, 2]}, "'direction' of length 1"),
        ("FixedProjectiveConstraint", {"indices": [1, 9, -1]}, "has 9 in 'indices', but there"),
        (
            "LinearForceField",
            {"points": [0], "times": [0, 0, 0], "forces": FORCES},
            "needs ascending 'times'",
        ),
        (
            "PolynomialRestShapeSpringsForceField",
            {"polynomialDegree": [2, 2], "polynomialStiffness": [3, 4]},
            "has 2 numbers in 'polynomialStiffness', but polynomialDegree asks for 4",
        ),
        (
            "EdgePressureForceField",
            {"edgeIndices": [0], "p_intensity": [3.0]},
            "has 'p_intensity' but no 'binormal'",
        ),
        ("UnilateralPlaneConstraint", {"indices": [0, 1, 2, 3, 3]}, "takes four points"),
        (
            "TetrahedronHyperelasticityFEMForceField",
            {"materialName": "NeoHookean", "ParameterSet": [3, 4, 5]},
            "needs 2 numbers in ParameterSet for NeoHookean",
        ),
        ("CylinderGridTopology", {"axis": [0, 0, 0]}, "needs an 'axis' that is not 0"),
    ],
)
def test_a_run_goes_on_and_says_what_makes_no_sense(kind, values, message, body, root, tolerant):
    with complaints() as said:
        body(kind, **values)
    assert [text for text in map(str, said) if message in text]
    assert np.isfinite(root.body.dofs.position.value).all()


def test_nodes_that_do_not_exist_are_not_fixed(body, tolerant):
    assert body("FixedProjectiveConstraint", indices=[1, 9, -1]).indices.value.tolist() == [1]


def test_the_first_time_that_is_later_ends_an_interval(body, root, run, tolerant):
    """Times that go back: at t = 0.01 it is the third that is later, and the second that is not."""
    values = {"times": [0, -1, 3, 1], "forces": [[0, 0, 0], [0, 0, 4], [4, 0, 0], [0, 0, 0]]}
    field = body("LinearForceField", points=[0], **values)
    run(root)
    force = np.zeros((4, 3))
    field.add_force(force)
    share = (root.time.value + 1) / 4
    assert force[0] == pytest.approx([4 * share, 0, 4 * (1 - share)])


def test_a_state_of_a_negative_size_has_the_nodes_of_its_positions(root, run, tolerant):
    state = root.addObject("MechanicalObject", position=POINTS, size=-1)
    run(root)
    assert state.size.value == 4
