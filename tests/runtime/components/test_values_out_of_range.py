"""Values that make no sense, with which SOFA goes on: so does the runtime, with a warning."""

import pytest

from sofa_softctl.runtime.helper.strictness import complaints

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
