import numpy as np
import pytest

from sofa_softctl.runtime.simulation import simulation

NEVER = {"tolerance": 0.0, "threshold": 0.0}


@pytest.fixture
def falling(root, integrated, grid, run):
    """Makes a clamped elastic body that falls, solved by conjugate gradients."""

    def make(gravity=-9.81, **options):
        root.gravity = [0.0, gravity, 0.0]
        points, tetrahedra = grid((1, 1, 3), (1.0, 1.0, 3.0))
        node = integrated(root, "body", points, linear_solver="CGLinearSolver")
        for name, value in options.items():
            node.linear_solver.findData(name).value = value
        node.addObject("MeshTopology", position=points.tolist(), tetrahedra=tetrahedra.tolist())
        node.addObject("UniformMass", totalMass=2.0)
        node.addObject("TetrahedronFEMForceField", method="small", youngModulus=2e3)
        node.addObject("FixedProjectiveConstraint", indices=[0, 4, 8])
        run(root)
        return node

    return make


def reference(A, b, *, iterations=25, tolerance=1e-5, threshold=1e-5, first=False, start=None):
    """The rule of the component's docstring in plain NumPy: x and the iterations done."""
    x = np.zeros_like(b) if start is None else start.copy()
    r = b - A @ x
    p, rho = None, None
    for iteration in range(iterations):
        rho_old, rho = rho, r @ r
        if np.sqrt(rho) <= tolerance * np.linalg.norm(b):
            return x, iteration
        p = r if iteration == 0 else r + rho / rho_old * p
        curvature = p @ A @ p
        if abs(curvature) <= threshold and not (first and iteration == 0):
            return x, iteration
        x, r = x + rho / curvature * p, r - rho / curvature * (A @ p)
    return x, iterations


def system(node):
    """A with held rows and columns, b and x of the last step."""
    solver = node.linear_solver
    return solver.A().toarray(), solver.b().copy(), solver.x().copy()


@pytest.mark.parametrize("iterations", [1, 2, 5, 25])
def test_it_stops_after_its_iterations(iterations, falling, root, run):
    """x after exactly so many steps; rounding grows with them, 1e-8 at the 25th."""
    node = falling(iterations=iterations, **NEVER)
    run(root, 1)
    A, b, x = system(node)
    expected, done = reference(A, b, iterations=iterations, **NEVER)
    assert done == iterations
    assert x == pytest.approx(expected, rel=1e-8, abs=1e-10 * np.abs(x).max())


def test_it_stops_at_the_tolerance(falling, root, run):
    """|r| <= tolerance |b|, looked at before every iteration: three tolerances, three lengths."""
    counts = []
    node = falling(threshold=0.0, iterations=500)
    for tolerance in (0.5, 1e-2, 1e-5):
        node.linear_solver.tolerance.value = tolerance
        run(root, 1)
        A, b, x = system(node)
        expected, done = reference(A, b, tolerance=tolerance, threshold=0.0, iterations=500)
        assert x == pytest.approx(expected, rel=1e-8, abs=1e-10 * np.abs(x).max())
        assert np.linalg.norm(b - A @ x) <= tolerance * np.linalg.norm(b)
        counts.append(done)
    assert counts == sorted(set(counts))
    assert counts[-1] < 500


def test_a_small_curvature_stops_it_but_not_at_the_very_first_iteration(falling, root, run):
    """p^T A p <= threshold, in the scene's units: with an endless threshold the first solve makes
    one iteration, and all others none, until reset."""
    node = falling(threshold=1e30)
    for first in (True, False, False):
        run(root, 1)
        A, b, x = system(node)
        expected, done = reference(A, b, threshold=1e30, first=first)
        assert done == (1 if first else 0)
        assert x == pytest.approx(expected, rel=1e-12)
    simulation.reset(root)
    run(root, 1)
    assert system(node)[2].any()


def test_a_curvature_threshold_in_between_stops_it_in_between(falling, root, run):
    """A threshold that only the k-th curvature is below: k - 1 iterations."""
    node = falling(tolerance=0.0, threshold=0.0)
    run(root, 1)
    A, b, _ = system(node)
    iterates = [reference(A, b, iterations=n, **NEVER)[0] for n in range(20)]
    curvatures = []
    for x, step in zip(iterates, np.diff(iterates, axis=0), strict=False):
        r = b - A @ x
        curvatures.append((r @ r) ** 2 / (step @ A @ step))  # step = (r . r / curvature) p
    k = next(k for k in range(2, 20) if curvatures[k] < 0.5 * min(curvatures[:k]))
    threshold = 0.75 * min(curvatures[:k])
    simulation.reset(root)
    node.linear_solver.threshold.value = threshold
    run(root, 1)
    A, b, x = system(node)
    expected, done = reference(A, b, tolerance=0.0, threshold=threshold)
    assert done == k
    assert x == pytest.approx(expected, rel=1e-8, abs=1e-10 * np.abs(x).max())


def test_nothing_to_solve_gives_nothing(falling, root, run):
    """b = 0 -> x = 0, without a division."""
    node = falling(gravity=0.0)
    run(root, 1)
    assert not node.linear_solver.x().any()
    assert not node.dofs.velocity.array().any()


def test_a_warm_start_goes_on_from_the_last_solution(falling, root, run):
    """r = b - A x_old: after two solves of 3 iterations x is that of the reference."""
    node = falling(iterations=3, warmStart=True, **NEVER)
    last = np.zeros(48)
    for _ in range(3):
        run(root, 1)
        A, b, x = system(node)
        expected, _ = reference(A, b, iterations=3, start=last, **NEVER)
        assert x == pytest.approx(expected, rel=1e-8, abs=1e-10 * np.abs(x).max())
        last = x


def test_converged_it_is_the_direct_solution(falling, root, run):
    """A tolerance of 1e-13 times the condition number of A, 1e4."""
    node = falling(tolerance=1e-13, threshold=0.0, iterations=1000)
    run(root, 5)
    A, b, x = system(node)
    assert x == pytest.approx(np.linalg.solve(A, b), abs=1e-9 * np.abs(x).max())


def test_each_iteration_lowers_the_error(falling, root, run):
    """x minimises x A x / 2 - b x over a growing space: the error in A's norm only falls."""
    node = falling(**NEVER)
    run(root, 1)
    A, b, _ = system(node)
    exact = np.linalg.solve(A, b)
    errors = []
    for iterations in range(1, 12):
        simulation.reset(root)
        node.linear_solver.iterations.value = iterations
        run(root, 1)
        error = system(node)[2] - exact
        errors.append(error @ A @ error)
    assert (np.diff(errors) < 0.0).all()


def test_held_nodes_stay(falling, root, run):
    """Their rows of x are 0."""
    node = falling()
    run(root, 3)
    assert not node.linear_solver.x().reshape(-1, 3)[[0, 4, 8]].any()


def test_a_matrix_of_zeros_moves_nothing(root, run):
    """p A p = 0: SOFA stops there too; a force on a body that nothing holds has no balance."""
    root.addObject("StaticSolver")
    root.addObject("NewtonRaphsonSolver")
    root.addObject("CGLinearSolver", iterations=10, tolerance=1e-9, threshold=1e-9)
    root.addObject("MechanicalObject", name="dofs", position=[[1, 2, 3]])
    root.addObject("UniformMass", totalMass=1.0)
    root.addObject("ConstantForceField", forces=[[1, 0, 0]])
    run(root, 2)
    assert root.dofs.position.value.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("name", ["tolerance", "threshold"])
def test_a_negative_limit_is_said_and_the_default_counts(name, root, tolerant, caplog):
    solver = root.addObject("CGLinearSolver", iterations=5, **{"tolerance": 1e-3, name: -1.0})
    simulation.init(root)
    assert f"takes a '{name}' of 0 or more, got -1; 1e-05 is taken" in caplog.text
    assert solver.findData(name).value == 1e-5
