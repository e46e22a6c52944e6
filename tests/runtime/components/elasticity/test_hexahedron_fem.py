import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.testing import check_jacobian

CUBE = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float
)
YOUNG, POISSON = 300.0, 0.3
LAM = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
MU = YOUNG / (2.0 * (1.0 + POISSON))


@pytest.fixture
def field(integrated, run):
    """Makes a hexahedron with a force field."""

    def make(rest=CUBE, position=None, hexahedra=((0, 1, 2, 3, 4, 5, 6, 7),), **values):
        root = Node("root", dt=0.01, gravity=[0.0, 0.0, 0.0])
        node = integrated(root, "body", rest if position is None else position)
        node.dofs.rest_position.value = rest
        node.addObject("MeshTopology", hexahedra=[list(cell) for cell in hexahedra])
        node.addObject("UniformMass", totalMass=1.0)
        values = {"youngModulus": YOUNG, "poissonRatio": POISSON, **values}
        made = node.addObject("HexahedronFEMForceField", **values)
        run(root)
        return made

    return make


def askew():
    return CUBE + 0.15 * np.random.default_rng(3).uniform(-1.0, 1.0, CUBE.shape)


def force_at(field, x):
    field.state.position.value = x
    force = np.zeros((len(x), 3))
    field.add_force(force)
    return force


@pytest.mark.parametrize("rest", [CUBE, askew()])
def test_a_uniform_strain_has_the_energy_of_hooke(rest, field):
    """Patch test: u = E X gives x . f = -V (lambda tr(E)^2 + 2 mu E : E), with Gauss's volume V.

    Trilinear shapes hold linear fields exactly.
    """
    E = 1e-3 * np.array([[1.0, 0.4, -0.2], [0.4, -0.6, 0.3], [-0.2, 0.3, 0.5]])
    force = force_at(field(rest, method="small"), rest + rest @ E)
    work = -np.sum(force * (rest @ E))
    volume = gauss_volume(rest)
    energy = volume * (LAM * np.trace(E) ** 2 + 2.0 * MU * (E * E).sum())
    assert work == pytest.approx(energy, rel=1e-10)


def gauss_volume(p):
    signs = 2.0 * CUBE - 1.0
    total = 0.0
    for point in signs / np.sqrt(3.0):
        t = 1.0 + signs * point  # (8, 3)
        slopes = np.stack([signs[:, j] * t[:, j - 1] * t[:, j - 2] / 8.0 for j in range(3)])
        total += np.linalg.det(slopes @ p)
    return total


@pytest.mark.parametrize("method", ["large", "polar"])
def test_a_turned_body_has_turned_forces(method, field):
    """f(R x + c) = R f(x), with other forces than none."""
    made = field(askew(), method=method)
    x = askew() + 0.2 * np.random.default_rng(1).uniform(-1.0, 1.0, CUBE.shape)
    R = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
    before = force_at(made, x)
    assert np.abs(before).max() > 1.0
    assert force_at(made, x @ R.T + [1.0, 2.0, 3.0]) == pytest.approx(before @ R.T, abs=1e-10)


@pytest.mark.parametrize("method", ["small", "large", "polar"])
def test_the_stiffness_is_the_derivative_of_the_forces_at_rest(method, field):
    made = field(askew(), method=method)
    K = made.assemble_csr(1.0).toarray()
    v = np.random.default_rng(5).uniform(-1.0, 1.0, (8, 3))
    out = np.zeros((8, 3))
    made.add_product(out, v, 2.0)
    assert out.ravel() == pytest.approx(2.0 * K @ v.ravel(), rel=1e-12)
    assert K == pytest.approx(K.T, abs=1e-13 * np.abs(K).max())
    check_jacobian(lambda x: -force_at(made, x).ravel(), K, askew())


def test_a_wedge_has_its_whole_stiffness_in_the_matrix(field, dense, product):
    """A hexahedron with two nodes twice: the matrix is that of the products, blocks once a pair."""
    wedge = field(CUBE[[0, 1, 3, 4, 5, 7]], hexahedra=[(0, 1, 2, 2, 3, 4, 5, 5)])
    columns = [product(wedge, unit.reshape(6, 3)).ravel() for unit in np.eye(18)]
    np.testing.assert_allclose(dense(wedge), np.transpose(columns), atol=1e-9)


def test_moduli_count_from_reinit_on(field):
    made = field(youngModulus=100.0)
    x = CUBE * 1.01
    before = force_at(made, x)
    made.youngModulus.value = [200.0]
    assert (force_at(made, x) == before).all()
    made.reinit()
    assert force_at(made, x) == pytest.approx(2.0 * before, rel=1e-12)


def test_a_snapshot_returns_moduli_that_reinit_changed(field):
    made = field(youngModulus=100.0)
    kept, before = made.snapshot(), force_at(made, CUBE * 1.01)
    made.youngModulus.value = [200.0]
    made.reinit()
    made.restore(kept)
    assert (force_at(made, CUBE * 1.01) == before).all()


def test_hexahedra_that_are_turned_inside_out_are_counted(field):
    made = field()
    assert made.inverted_elements() == 0
    made.state.position.value = CUBE * [1.0, 1.0, -1.0]
    assert made.inverted_elements() == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hexahedra": []}, "finds no hexahedra in MeshTopology"),
        ({"hexahedra": [[0, 1, 2, 3, 4, 5, 6, 8]], "rest": CUBE}, "vertex which does not exist"),
        ({"rest": CUBE * [1.0, 1.0, 0.0]}, r"1 of 1 hexahedra without volume, first hexahedra\[0"),
        ({"poissonRatio": 0.5}, "needs poissonRatio from 0 to below 0.5, got 0.5"),
    ],
)
def test_what_makes_no_body_is_named(values, message, field):
    with pytest.raises(SceneError, match=message):
        field(**values)


def test_a_flat_hexahedron_has_no_stiffness_and_the_others_keep_theirs(field, caplog, tolerant):
    """The second cell has its upper side on its lower one, or all its nodes at one place."""
    alone = force_at(field(), CUBE * 1.01)
    for second in (CUBE * [1.0, 1.0, 0.0], CUBE * 0.0):
        rest = np.concatenate([CUBE, second + 5.0])
        made = field(rest=rest, hexahedra=(range(8), range(8, 16)))
        force = force_at(made, rest * 1.01)
        assert force[:8] == pytest.approx(alone) and not force[8:].any()
        assert made.inverted_elements() == 0
    assert "1 of 2 hexahedra without volume" in caplog.text
