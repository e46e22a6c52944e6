import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.simulation import simulation

TETRAHEDRON = np.vstack([np.zeros(3), np.eye(3)])


@pytest.fixture
def elastic(root, integrated, run):
    """Makes an elastic body of given tetrahedra."""

    def make(points, elements, rest=None, **values):
        node = integrated(root, "body", points)
        if rest is not None:
            node.dofs.rest_position.value = rest
        node.addObject("MeshTopology", name="mesh", tetrahedra=np.asarray(elements).tolist())
        node.addObject("UniformMass", totalMass=1.0)
        field = node.addObject("TetrahedronFEMForceField", name="elasticity", **values)
        run(root)
        return field

    return make


@pytest.fixture
def pieces(elastic):
    """Makes tetrahedra that do not touch, each with the same small strain."""

    def make(count, **values):
        points = np.vstack([TETRAHEDRON + 5.0 * i for i in range(count)])
        elements = np.arange(4 * count).reshape(count, 4)
        return elastic(points * 1.01, elements, rest=points, **values)

    return make


def force_of(field):
    force = np.zeros((field.state.count, 3))
    field.add_force(force)
    return force


def moduli(field):
    """Young's modulus of each piece, in units of that of the first, by the forces it makes."""
    sizes = np.abs(force_of(field)).reshape(-1, 12).max(axis=1)
    return sizes / sizes[0]


def test_a_missing_youngs_modulus_is_the_first(pieces, tolerant):
    """SOFA's rule: element i has entry i, or else entry 0 (not the last)."""
    assert moduli(pieces(4, youngModulus=[2.0, 6.0])) == pytest.approx([1.0, 3.0, 1.0, 1.0])


def test_a_missing_poissons_ratio_is_the_first(pieces, tolerant):
    """Under the same isotropic stretch the stress is 3 K e, with K = E / (3 (1 - 2 nu))."""
    field = pieces(3, youngModulus=1.0, poissonRatio=[0.25, 0.4], method="small")
    assert moduli(field) == pytest.approx([1.0, (1.0 - 0.5) / (1.0 - 0.8), 1.0])


def test_more_moduli_than_elements_do_no_harm(pieces, tolerant):
    assert moduli(pieces(2, youngModulus=[1.0, 2.0, 3.0])) == pytest.approx([1.0, 2.0])


def test_local_factors_are_spread_over_the_elements(pieces):
    """Of M factors element i of N has the one at floor(i M / N)."""
    field = pieces(5, youngModulus=[7.0], localStiffnessFactor=[1.0, 3.0, 2.0])
    assert moduli(field) == pytest.approx([1.0, 1.0, 3.0, 3.0, 2.0])  # floor(0, .6, 1.2, 1.8, 2.4)


def test_the_stress_is_that_of_lames_constants(elastic):
    """x = (1 + e) X: s = (3 lambda + 2 mu) e I = E e / (1 - 2 nu) I; f_a = -V s g_a, and the
    gradients at nodes b, c and d of the unit tetrahedron are the axes."""
    e, young, poisson = 0.01, 300.0, 0.4
    field = elastic(
        TETRAHEDRON * (1.0 + e), [[0, 1, 2, 3]], rest=TETRAHEDRON, youngModulus=young,
        poissonRatio=poisson,
    )  # fmt: skip
    stress = young * e / (1.0 - 2.0 * poisson)
    assert force_of(field)[1:] == pytest.approx(-stress / 6.0 * np.eye(3), abs=1e-13)


def test_soft_tissue_is_the_default(elastic):
    """SOFA's: E = 5000, nu = 0.45, method large."""
    field = elastic(TETRAHEDRON, [[0, 1, 2, 3]])
    assert field.youngModulus.array().tolist() == [5000.0]
    assert field.poissonRatio.array().tolist() == [0.45]
    assert field.method.value == "large"


@pytest.mark.parametrize(("method", "turned"), [("small", False), ("large", True), ("polar", True)])
def test_the_method_is_the_one_that_was_chosen(method, turned, elastic):
    """Rotated rest positions: no force, unless the method knows no rotation."""
    R = Rotation.random(random_state=1).as_matrix()
    field = elastic(TETRAHEDRON @ R.T, [[0, 1, 2, 3]], rest=TETRAHEDRON, method=method)
    largest = np.abs(force_of(field)).max()
    assert largest < 1e-11 if turned else largest > 100.0


def test_a_new_youngs_modulus_counts_after_reinit(pieces):
    field = pieces(1, youngModulus=1.0)
    before = force_of(field)
    field.youngModulus.value = 2.0
    assert force_of(field) == pytest.approx(before)
    field.reinit()
    assert force_of(field) == pytest.approx(2.0 * before)


def test_a_new_youngs_modulus_counts_at_once_when_told(pieces):
    field = pieces(1, youngModulus=1.0, updateStiffness=True)
    before = force_of(field)
    field.youngModulus.value = 2.0
    assert force_of(field) == pytest.approx(2.0 * before)


def test_the_matrix_does_what_the_product_does(grid, elastic, dense, product):
    """factor K v by blocks and element by element, with K of the present rotations."""
    points, elements = grid((2, 1, 1), (2.0, 1.0, 1.0))
    field = elastic(points, elements, youngModulus=np.linspace(1.0, 2.0, 12), method="polar")
    random = np.random.default_rng(0)
    field.state.position.value = points + random.uniform(-0.2, 0.2, points.shape)
    force_of(field)
    v = random.uniform(-1.0, 1.0, points.shape)
    expected = dense(field, 0.3) @ v.ravel()
    assert product(field, v, 0.3).ravel() == pytest.approx(expected, abs=1e-14)


def test_reset_brings_back_the_first_step(root, elastic, run):
    """The same positions after reset and a step as after init and a step, bit for bit."""
    field = elastic(TETRAHEDRON * 1.1, [[0, 1, 2, 3]], rest=TETRAHEDRON, youngModulus=50.0)
    run(root, 1)
    first = field.state.position.array().copy()
    run(root, 5)
    simulation.reset(root)
    run(root, 1)
    assert (field.state.position.array() == first).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"youngModulus": -1.0}, "needs youngModulus >= 0, got -1"),
        ({"youngModulus": []}, "needs at least one 'youngModulus'"),
        ({"poissonRatio": 0.5}, "needs poissonRatio from 0 to below 0.5, got 0.5"),
        ({"poissonRatio": [0.3, -0.1]}, "needs poissonRatio from 0 to below 0.5, got -0.1"),
    ],
)
def test_a_stiffness_that_is_none_is_an_error(values, message, pieces):
    with pytest.raises(SceneError, match=message):
        pieces(2, **values)


def test_elements_that_are_turned_inside_out_are_counted(pieces):
    """Three are mirrored, the second one at rest too: its volume keeps its sign."""
    field = pieces(3)
    x, rest = field.state.position.value.copy(), field.state.rest_position.value.copy()
    assert field.inverted_elements() == 0
    x[:, 0] *= -1.0
    rest[4:8, 0] *= -1.0
    field.state.position.value, field.state.rest_position.value = x, rest
    assert field.inverted_elements() == 2


def test_a_flat_tetrahedron_is_an_error_that_names_it(elastic):
    points = np.vstack([TETRAHEDRON, [[1.0, 1.0, 0.0]]])
    with pytest.raises(
        SceneError, match=r"1 of 2 .* without volume, first tetrahedra\[1\] = \[0, "
    ):
        elastic(points, [[0, 1, 2, 3], [0, 1, 2, 4]])


def test_a_surface_alone_is_an_error(root, integrated, run):
    node = integrated(root, "body", TETRAHEDRON)
    node.addObject("MeshTopology", triangles=[[0, 1, 2]])
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("TetrahedronFEMForceField")
    with pytest.raises(SceneError, match="finds no tetrahedra in .*A surface mesh is not enough"):
        run(root)


@pytest.mark.parametrize("kind", ["TetrahedronFEMForceField", "HexahedronFEMForceField"])
def test_a_linked_rest_shape_counts_and_one_of_numbers_does_not_as_in_sofa(
    root, integrated, run, kind
):
    """At the shape that is linked there is no force, whatever the state's rest position."""
    node = integrated(root, "body", [[0, 0, 0], [1, 1, 1]])
    node.removeObject(node.dofs)
    grid = node.addObject("RegularGridTopology", name="grid", n=[2, 2, 2], max=[1, 1, 1])
    node.addObject("MeshTopology", hexahedra=[[0, 1, 3, 2, 4, 5, 7, 6]], tetrahedra=[[0, 1, 2, 4]])
    node.addObject("MechanicalObject", name="dofs", scale3d=[1.1, 1, 1])
    node.addObject("UniformMass", totalMass=1.0)
    linked = node.addObject(kind, name="linked", initialPoints="@grid.position")
    typed = node.addObject(kind, name="typed", initialPoints=np.zeros((8, 3)))
    run(root)
    typed_force, linked_force = force_of(typed), force_of(linked)
    assert np.abs(typed_force).max() < 1e-9 < 1.0 < np.abs(linked_force).max()
    node.dofs.position.value = grid.position.value
    assert np.abs(force_of(linked)).max() < 1e-9 < 1.0 < np.abs(force_of(typed)).max()


def test_a_linked_rest_shape_of_too_few_points_is_an_error(elastic, root):
    root.addObject("MechanicalObject", name="few", position=np.eye(3))
    with pytest.raises(SceneError, match="follows 3 points in 'initialPoints' for 4 nodes"):
        elastic(TETRAHEDRON, [[0, 1, 2, 3]], initialPoints="@/few.position")
