"""Force fields in Python, against SOFA's numbers and against a built-in one."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError

POSITIONS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5]]
STIFFNESS = 20.0


@pytest.fixture
def Springs(Sofa):
    """Springs to the rest position; `entries(k, n)` makes what addKToMatrix gives."""

    class Springs(Sofa.Core.ForceFieldVec3d):
        def __init__(self, *args, entries=None, **kwargs):
            Sofa.Core.ForceFieldVec3d.__init__(self, *args, **kwargs)
            self.entries = entries or (lambda k, n: [[i, i, k] for i in range(n)])

        def init(self):
            self.rest = self.getContext().dofs.position.array().copy()

        def addForce(self, parameters, force, position, velocity):
            with force.writeableArray() as f:
                f += STIFFNESS * (self.rest - position.value)

        def addDForce(self, parameters, df, dx):
            with df.writeableArray() as f:
                f -= STIFFNESS * parameters["kFactor"] * dx.value

        def addKToMatrix(self, parameters, n_nodes, n_dofs):
            k = -STIFFNESS * parameters["kFactor"]
            return np.array(self.entries(k, n_nodes * n_dofs))

    return Springs


@pytest.fixture
def body(Sofa):
    """A node with two masses, moved by that force field."""

    def build(force_field, solver="SparseLDLSolver", rayleigh=0.0):
        root = Sofa.Core.Node("root", gravity=[0.0, -10.0, 0.0])
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1, rayleighStiffness=rayleigh)
        tight = {"iterations": 50, "tolerance": 1e-14, "threshold": 1e-14}
        node.addObject(solver, **(tight if solver == "CGLinearSolver" else {}))
        velocity = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        node.addObject("MechanicalObject", name="dofs", position=POSITIONS, velocity=velocity)
        node.addObject("UniformMass", totalMass=2.0)
        node.addObject(force_field) if force_field else node.addObject(
            "RestShapeSpringsForceField", stiffness=STIFFNESS
        )
        Sofa.Simulation.init(root)
        return node

    return build


def moved(Sofa, node, steps=23):
    Sofa.Simulation.animateNSteps(node.getRoot(), steps, 0.01)
    return node.dofs.position.value


@pytest.mark.parametrize("solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_the_motion_is_sofas(Sofa, Springs, body, solver):
    """SOFA v25.06's numbers for this very class; 1e-14 for sums in another order."""
    y = -0.24557872834634084
    expected = [[0.18492050994732118, y, 0.0], [1.0, y, 0.5]]
    found = moved(Sofa, body(Springs(name="springs"), solver))
    assert found == pytest.approx(np.array(expected), abs=1e-14)


@pytest.mark.parametrize("solver", ["SparseLDLSolver", "CGLinearSolver"])
@pytest.mark.parametrize("own", [0.0, 0.05])
def test_it_moves_as_the_built_in_springs_do_with_damping(Sofa, Springs, body, solver, own):
    mine = body(Springs(name="springs", rayleighStiffness=own), solver, rayleigh=0.1)
    other = body(None, solver, rayleigh=0.1)
    other.RestShapeSpringsForceField.rayleighStiffness = own
    assert moved(Sofa, mine) == pytest.approx(moved(Sofa, other), abs=1e-14)


@pytest.mark.parametrize(
    "entries",
    [
        lambda k, n: (k * np.eye(n))[:, :, None],
        lambda k, n: [[i, i, k / 2] for i in range(n)] * 2,
    ],
    ids=["whole matrix", "entries that add up"],
)
def test_a_matrix_may_be_given_whole_or_in_parts(Sofa, Springs, body, entries):
    """One step, exactly: the same sums as with one entry for each unknown."""
    given = body(Springs(name="springs", entries=entries))
    usual = body(Springs(name="springs"))
    assert given.springs.assembleKMatrix().toarray() == pytest.approx(-STIFFNESS * np.eye(6))
    assert moved(Sofa, given) == pytest.approx(moved(Sofa, usual), abs=1e-14)


def test_coupled_nodes_enter_the_matrix_whole(Sofa, Springs, body):
    K = np.arange(36.0).reshape(6, 6)
    K = K + K.T
    rows, cols = np.indices((6, 6)).reshape(2, -1)
    node = body(
        Springs(name="f", entries=lambda k, n: np.c_[rows, cols, k / STIFFNESS * K.ravel()])
    )
    assert node.f.assembleKMatrix().toarray() == pytest.approx(-K)
    moved(Sofa, node, 1)
    assert node.SparseLDLSolver.A().toarray() == pytest.approx(1.001 * np.eye(6) + 1e-4 * K)


def test_what_is_missing_is_named(Sofa, body):
    class Empty(Sofa.Core.ForceFieldVec3d):
        def addKToMatrix(self, parameters, n_nodes, n_dofs):
            return None

    node = body(Empty(name="empty"))
    with pytest.raises(SceneError, match=r"Empty '/body/empty' is a force field without addForce"):
        moved(Sofa, node)


def test_a_matrix_of_another_shape_is_refused(Sofa, Springs, body):
    message = r"got an array of shape \(6, 6\) from addKToMatrix; .* \(6, 6, 1\)"
    with pytest.raises(SceneError, match=message):
        body(Springs(name="springs", entries=lambda k, n: np.eye(n)))


def test_new_couplings_are_refused_later(Sofa, Springs, body):
    late = []
    node = body(Springs(name="springs", entries=lambda k, n: [[0, 0, k], *late]))
    moved(Sofa, node, 1)
    late.append([3, 0, 1.0])
    with pytest.raises(SceneError, match=r"couples nodes 1 and 0 now, but not in the first step"):
        moved(Sofa, node, 1)


@pytest.mark.parametrize("solver", ["SparseLDLSolver", "CGLinearSolver"])
def test_a_force_field_on_bodies(Sofa, root, solver):
    """A spring along x and one about z, both linear: v' = -h w^2 x / (1 + (h w)^2) of each."""

    class Springs(Sofa.Core.ForceFieldRigid3d):
        def addForce(self, parameters, force, position, velocity):
            x = position.value
            with force.writeableArray() as f:
                f[:, 0] -= 8.0 * x[:, 0]
                f[:, 5] -= 3.0 * 2.0 * x[:, 5]

        def addDForce(self, parameters, df, dx):
            with df.writeableArray() as f:
                f[:, [0, 5]] -= parameters["kFactor"] * np.array([8.0, 3.0]) * dx.value[:, [0, 5]]

        def addKToMatrix(self, parameters, n_nodes, n_dofs):
            assert (n_nodes, n_dofs) == (2, 7)
            diagonal = ((6 * i + j, k) for i in range(n_nodes) for j, k in ((0, 8.0), (5, 3.0)))
            return np.array([[row, row, -k] for row, k in diagonal])

    root.addObject("DefaultAnimationLoop")
    root.addObject("EulerImplicitSolver")
    exact = {"iterations": 20, "tolerance": 1e-12, "threshold": 1e-30}
    root.addObject(solver, **(exact if solver == "CGLinearSolver" else {}))
    tilt, still = np.sin(0.01), [0.0] * 5 + [0.0, 1.0]
    poses = [[0.3, 0, 0, 0, 0, tilt, np.cos(0.01)], still]
    root.addObject("MechanicalObject", name="dofs", template="Rigid3d", position=poses)
    root.addObject("UniformMass", vertexMass=[2.0, 1.0, *np.eye(3).ravel()])
    root.addObject(Springs(name="springs"))
    Sofa.Simulation.init(root)
    Sofa.Simulation.animate(root, 0.1)
    h, mass = 0.1, 2.0
    speed = [-h * 8.0 * 0.3 / (mass + h**2 * 8.0), -h * 6.0 * tilt / (mass + h**2 * 3.0)]
    assert root.dofs.velocity.value[0, [0, 5]] == pytest.approx(speed, rel=1e-6)
    assert not root.dofs.velocity.value[1].any()
