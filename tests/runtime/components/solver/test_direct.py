import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.kernels.cholesky import cholesky
from sofa_softctl.runtime.simulation import simulation


@pytest.fixture
def particles_on_springs(root, integrated, run):
    """Makes three particles, each on a spring of its own."""

    def make(stiffnesses, loop="DefaultAnimationLoop", masses=1.0, **options):
        root.gravity = [0.0, -9.81, 0.0]
        root.addObject(loop)
        node = integrated(root, "body", np.arange(9.0).reshape(3, 3), **options)
        node.addObject("UniformMass", vertexMass=masses)
        node.addObject("RestShapeSpringsForceField", name="springs", stiffness=stiffnesses)
        if loop == "FreeMotionAnimationLoop":
            node.addObject("LinearSolverConstraintCorrection")
            node.addObject("CableConstraint", indices=[0, 1], pullPoint=[0.0, 9.0, 1.0], value=0.1)
            node.addObject("CableConstraint", indices=[1], pullPoint=[5.0, 0.0, 0.0], value=0.2)
        run(root)
        return node

    return make


def test_x_solves_A_x_b(particles_on_springs, root, run):
    """Of the last step; A = M + h^2 K."""
    node = particles_on_springs([100.0, 200.0, 300.0])
    run(root, 2)
    solver = node.linear_solver
    expected = np.diag(np.repeat(1.0 + 1e-4 * np.array([100.0, 200.0, 300.0]), 3))
    assert solver.A().toarray() == pytest.approx(expected)
    assert solver.x() == pytest.approx(np.linalg.solve(expected, solver.b()))


def test_after_a_constrained_step_b_is_that_of_the_correction(particles_on_springs, root, run):
    """b = H^T lambda and x = A^-1 b, as in SOFA."""
    node = particles_on_springs([100.0], "FreeMotionAnimationLoop")
    run(root, 2)
    solver, dofs = node.linear_solver, node.dofs
    change = dofs.velocity.array() - dofs.free_velocity.array()
    assert solver.x().reshape(3, 3) == pytest.approx(change, abs=1e-14)
    assert solver.b() == pytest.approx(solver.A() @ solver.x(), abs=1e-13)


@pytest.mark.parametrize("loop", ["DefaultAnimationLoop", "FreeMotionAnimationLoop"])
def test_a_matrix_that_is_not_positive_is_solved_all_the_same(
    loop, particles_on_springs, root, run
):
    """A spring of negative stiffness, m + h^2 k = -1: LU instead of Cholesky, with rows too."""
    node = particles_on_springs([1.0, -2e4, 1.0], loop)
    run(root, 1)
    A = node.linear_solver.A().toarray()
    assert np.diag(A)[3] == pytest.approx(-1.0)
    if loop == "DefaultAnimationLoop":
        expected = np.linalg.solve(A, node.linear_solver.b()).reshape(3, 3)
        assert node.dofs.velocity.array() == pytest.approx(expected)
        return
    problem = simulation.loop_of(root).problem
    rows = problem.rows[id(problem.systems[0])]
    H = np.zeros((2, 3, 3))
    np.add.at(H, (rows.row, rows.node), rows.direction)
    H = H.reshape(2, 9)
    assert problem.W == pytest.approx(0.01 * H @ np.linalg.solve(A, H.T))
    change = np.linalg.solve(A, H.T @ problem.lam).reshape(3, 3)
    moved = node.dofs.velocity.array() - node.dofs.free_velocity.array()
    assert moved == pytest.approx(change, abs=1e-12)


def test_positive_again_it_is_solved_as_before(particles_on_springs, root, run):
    """The next step's matrix decides for itself."""
    node = particles_on_springs([1.0, -2e4, 1.0])
    run(root, 1)
    node.springs.stiffness.value = [1.0, 1.0, 1.0]
    run(root, 1)
    solver = node.linear_solver
    assert solver.x() == pytest.approx(np.linalg.solve(solver.A().toarray(), solver.b()))


def test_a_singular_matrix_is_an_error_that_says_what_to_look_for(particles_on_springs, root, run):
    """m + h^2 k = 0."""
    particles_on_springs([1.0, -1e4, 1.0])
    with pytest.raises(SceneError, match="cannot factorise the system matrix: it is singular"):
        run(root, 1)


def test_a_solver_that_is_another_one_in_sofa_says_so(root, integrated, run, monkeypatch):
    said = []
    monkeypatch.setattr(message, "warning", lambda emitter, text: said.append(text))
    node = integrated(root, "body", [[0, 0, 0], [1, 0, 0]], linear_solver="BTDLinearSolver")
    node.addObject("UniformMass", vertexMass=1.0)
    root.addObject("DefaultAnimationLoop")
    run(root)
    (text,) = said
    assert "BTDLinearSolver '/body/linear_solver' solves the whole matrix" in text
    assert "leaves out what couples blocks" in text


def test_a_precomputed_solver_keeps_its_first_matrix(particles_on_springs, root, run):
    node = particles_on_springs([1.0, 2.0, 1.0], linear_solver="PrecomputedLinearSolver")
    run(root, 1)
    first = node.linear_solver.A().toarray()
    node.springs.stiffness.value = [10.0, 20.0, 10.0]
    run(root, 1)
    solver = node.linear_solver
    np.testing.assert_array_equal(solver.A().toarray(), first)
    assert solver.x() == pytest.approx(np.linalg.solve(first, solver.b()))


def test_nodes_with_neither_mass_nor_stiffness_are_named(root, integrated, run):
    """The last two of six nodes are in no element."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 2, 2], [3, 3, 3]]
    node = integrated(root, "body", np.array(points, dtype=float))
    node.addObject("MeshTopology", position=points, tetrahedra=[[0, 1, 2, 3]])
    node.addObject("MeshMatrixMass", totalMass=1.0)
    node.addObject("TetrahedronFEMForceField", youngModulus=100.0, poissonRatio=0.3)
    with pytest.raises(
        SceneError, match=r"2 of the 6 nodes of .*'/body/dofs' .*: 4, 5\. They are in no element"
    ):
        run(root, 1)


def test_a_factor_that_does_not_fit_is_refused_before_it_is_allocated(
    particles_on_springs, monkeypatch
):
    """Three particles: nine numbers each, 216 bytes."""
    monkeypatch.setattr(cholesky, "available_memory", lambda: 200)
    with pytest.raises(
        SceneError,
        match=r"cannot factorise 9 degrees of freedom: the factor needs 2.16e-07 GB of memory, of "
        r"which 2e-07 GB are available. Use a coarser mesh, or a CGLinearSolver",
    ):
        particles_on_springs([100.0])
