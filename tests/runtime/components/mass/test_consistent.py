import numpy as np
import pytest

from sofa_softctl.runtime.helper.message import complaints

SIZE = np.array([2.0, 3.0, 4.0])
DENSITY = 1.5
TOTAL = DENSITY * SIZE.prod()


@pytest.fixture
def body(root, integrated, run, grid):
    """Makes a MeshMatrixMass, and a DiagonalMass for comparison, on a box of 2 x 2 x 3 cells."""

    def make(kind="MeshMatrixMass", **values):
        points, elements = grid((2, 2, 3), SIZE)
        inner = (points > 0.0).all(axis=1) & (points < SIZE).all(axis=1)
        points[inner] += np.random.default_rng(0).uniform(-0.3, 0.3, (inner.sum(), 3))
        node = integrated(root, kind, points)
        node.addObject("MeshTopology", position=points.tolist(), tetrahedra=elements.tolist())
        return node.addObject(kind, massDensity=DENSITY, **values), points

    return make


def test_the_matrix_is_symmetric_and_positive_definite(body, dense, root, run):
    """Exactly symmetric; the least eigenvalue is that of a small element's share, not rounding."""
    mass, _ = body()
    run(root)
    M = dense(mass)
    assert (M == M.T).all()
    assert np.linalg.eigvalsh(M).min() > 1e-3 * TOTAL / len(M)


def test_all_entries_sum_to_the_mass(body, dense, root, run):
    """1^T M 1 = rho V in each direction, and nothing between directions."""
    mass, points = body()
    run(root)
    unit = np.tile(np.eye(3), (len(points), 1))  # (3 n, 3)
    assert unit.T @ dense(mass) @ unit == pytest.approx(TOTAL * np.eye(3), abs=1e-13 * TOTAL)


def test_rows_sum_to_the_lumped_mass_and_weigh_as_much(body, dense, root, run):
    """M 1 is what DiagonalMass has on its diagonal, and gravity is that times g."""
    consistent, points = body()
    lumped, _ = body("DiagonalMass")
    run(root)
    ones = np.ones(3 * len(points))
    sums = dense(consistent) @ ones
    assert sums == pytest.approx(dense(lumped) @ ones, abs=1e-13 * TOTAL)
    force, g = np.zeros_like(points), np.array([0.1, -9.81, 2.0])
    consistent.add_gravity(force, g)
    assert force == pytest.approx(sums.reshape(-1, 3) * g, abs=1e-12 * TOTAL)


def test_the_kinetic_energy_of_a_turning_box_is_exact(body, dense, root, run):
    """Linear elements integrate |v|^2 of a linear field v = w x (x - c) exactly: for a box about
    the z axis through its centre, w^2 I / 2 with I = m (a^2 + b^2) / 12. Lumping overestimates."""
    consistent, points = body()
    lumped, _ = body("DiagonalMass")
    run(root)
    v = np.cross([0.0, 0.0, 2.0], points - SIZE / 2.0).ravel()
    inertia = TOTAL * (SIZE[0] ** 2 + SIZE[1] ** 2) / 12.0
    assert v @ dense(consistent) @ v / 2.0 == pytest.approx(2.0**2 * inertia / 2.0, rel=1e-13)
    assert v @ dense(lumped) @ v / 2.0 > 1.1 * 2.0**2 * inertia / 2.0


def test_one_tetrahedron_has_tenths_and_twentieths(root, integrated, run, dense):
    """rho V (1 + delta_ij) / 20."""
    points = np.vstack([np.zeros(3), np.eye(3)])
    node = integrated(root, "body", points)
    node.addObject("MeshTopology", position=points.tolist(), tetrahedra=[[0, 1, 2, 3]])
    mass = node.addObject("MeshMatrixMass", totalMass=20.0)
    run(root)
    assert dense(mass)[::3, ::3] == pytest.approx(np.ones((4, 4)) + np.eye(4))
    assert mass.vertexMass.array() == pytest.approx([2.0] * 4)


def test_one_triangle_has_sixths_and_twelfths(root, integrated, run, dense):
    """rho A (1 + delta_ij) / 12."""
    node = integrated(root, "body", np.eye(3))
    node.addObject("MeshTopology", position=np.eye(3).tolist(), triangles=[[0, 1, 2]])
    mass = node.addObject("MeshMatrixMass", totalMass=12.0)
    run(root)
    assert dense(mass)[::3, ::3] == pytest.approx(np.ones((3, 3)) + np.eye(3))


def test_the_matrix_does_what_the_product_does(body, dense, product, root, run):
    mass, points = body()
    run(root)
    v = np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    expected = -0.3 * dense(mass) @ v.ravel()
    assert product(mass, v, -0.3).ravel() == pytest.approx(expected, abs=1e-13 * TOTAL)


def test_lumping_moves_the_rows_to_the_diagonal(body, dense, product, root, run):
    """Then matrix and product are those of DiagonalMass."""
    mass, points = body(lumping=True)
    lumped, _ = body("DiagonalMass")
    run(root)
    v = np.random.default_rng(0).uniform(-1.0, 1.0, points.shape)
    assert dense(mass) == pytest.approx(dense(lumped), abs=1e-13 * TOTAL)
    assert product(mass, v) == pytest.approx(product(lumped, v), abs=1e-13 * TOTAL)


@pytest.mark.parametrize("kind", ["MeshMatrixMass", "DiagonalMass"])
def test_a_scaled_mass_is_that_of_a_denser_body(body, dense, product, root, run, kind):
    """Matrix, product and weight are those of three times the density; up to rounding."""
    mass, points = body(kind)
    run(root)
    M, v, g = dense(mass), np.arange(3.0 * len(points)).reshape(-1, 3), np.array([0.1, -9.81, 2.0])
    before, after = np.zeros((2, *points.shape))
    mass.add_gravity(before, g)
    mass.scale(3.0)
    mass.add_gravity(after, g)
    assert dense(mass) == pytest.approx(3.0 * M, rel=1e-14)
    assert product(mass, v, 1.0).ravel() == pytest.approx(3.0 * M @ v.ravel(), rel=1e-12)
    assert after == pytest.approx(3.0 * before, rel=1e-14)


def test_masses_of_nodes_are_said_not_to_count(body, root, run, tolerant):
    with complaints() as said:
        body(vertexMass=[1.0, 2.0])
        run(root)
    assert "does not take 'vertexMass': its matrix comes from the elements" in str(said[0])


def test_rows_are_summed_from_the_start_or_not_at_all(body, dense, root, run):
    """A linear solver knows which nodes are coupled."""
    mass, _ = body()
    run(root)
    before = dense(mass)
    mass.lumping.value = True
    mass.reinit()
    run(root)
    assert (dense(mass) == before).all()
