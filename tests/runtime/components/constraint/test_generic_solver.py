import numpy as np
import pytest

from sofa_softctl.runtime.core.scripted import Controller

PULL_POINTS = np.array([[3.0, 1.0, 0.0], [0.0, 4.0, 1.0], [1.0, 1.0, 5.0]])
VALUES = np.array([0.1, 0.2, -0.05])


@pytest.fixture
def three_cables(root, integrated, run):
    """Makes a particle with three cables, and their solver."""

    def make(controller=None, **options):
        root.addObject("FreeMotionAnimationLoop")
        solver = root.addObject("GenericConstraintSolver", name="solver", **options)
        node = integrated(root, "body", np.zeros((1, 3)))
        node.addObject("UniformMass", vertexMass=2.0)
        node.addObject("LinearSolverConstraintCorrection")
        for point, value in zip(PULL_POINTS, VALUES, strict=True):
            node.addObject("CableConstraint", pullPoint=point.tolist(), value=value)
        if controller is not None:
            root.addObject(controller)
        run(root)
        return solver, node.dofs

    return make


def dense():
    """W and H of the first step: h H H^T / m with unit vectors in the rows."""
    H = PULL_POINTS / np.linalg.norm(PULL_POINTS, axis=1)[:, None]
    return 0.01 * H @ H.T / 2.0, H


def reference(W, tolerance, max_sweeps=1000, sor=1.0):
    """Projected Gauss-Seidel from zero, delta_free = 0: lambda, sweeps and the last sum."""
    lam, sweeps, error = np.zeros(3), 0, np.inf
    while sweeps < max_sweeps and error >= tolerance:
        sweeps, error = sweeps + 1, 0.0
        for j in range(3):
            step = (VALUES[j] - W[j] @ lam) / W[j, j]
            lam[j] += sor * step
            error += abs(W[j, j] * step)
    return lam, sweeps, error


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({}, 3e-3),  # 0.001 for each row
        ({"tolerance": 1e-6}, 3e-6),
        ({"tolerance": 1e-6, "scaleTolerance": False}, 1e-6),
        ({"tolerance": 1e-6, "sor": 0.7}, 3e-6),
    ],
)
def test_it_stops_at_the_tolerance_of_all_rows(options, tolerance, three_cables, root, run):
    """lambda is that of as many sweeps; the count that is told is one more, as in SOFA."""
    solver, _ = three_cables(computeConstraintForces=True, **options)
    run(root, 1)
    lam, sweeps, error = reference(dense()[0], tolerance, sor=options.get("sor", 1.0))
    assert solver.constraintForces.array() == pytest.approx(lam, rel=1e-9)
    assert solver.currentIterations.value == sweeps + 1
    assert solver.currentError.value == pytest.approx(error, rel=1e-6)
    assert sweeps > 3


def test_it_takes_the_last_multipliers_when_it_does_not_get_there(three_cables, root, run):
    """maxIterations sweeps, and currentError tells."""
    solver, _ = three_cables(computeConstraintForces=True, tolerance=1e-12, maxIterations=4)
    run(root, 1)
    lam, _, error = reference(dense()[0], 0.0, max_sweeps=4)
    assert solver.constraintForces.array() == pytest.approx(lam, rel=1e-12)
    assert solver.currentIterations.value == 5
    assert solver.currentError.value == pytest.approx(error) != 0.0


def test_every_step_starts_from_zero(three_cables, root, run):
    """Unlike a warm start: at rest a second step needs as many sweeps for the same values."""
    solver, dofs = three_cables(tolerance=1e-9)
    run(root, 1)
    first = solver.currentIterations.value
    dofs.position.value = [[0.0, 0.0, 0.0]]
    dofs.velocity.value = [[0.0, 0.0, 0.0]]
    run(root, 1)
    assert solver.currentIterations.value == first


def test_it_tells_how_many_rows_and_constraints_there_are(three_cables, root, run):
    solver, _ = three_cables()
    run(root, 1)
    assert solver.currentNumConstraints.value == 3
    assert solver.currentNumConstraintGroups.value == 3


def test_views_show_the_system_of_the_step(three_cables, root, run):
    """W(), dfree() and lambda_force()."""
    solver, _ = three_cables(tolerance=1e-13)
    run(root, 1)
    W, _ = dense()
    assert solver.W() == pytest.approx(W)
    assert solver.dfree() == pytest.approx(np.zeros(3))
    assert solver.lambda_force() == pytest.approx(np.linalg.solve(W, VALUES))


class Overwrite(Controller):
    """Puts multipliers of its own in the place of the solved ones, and looks at the system."""

    lam = np.array([1.0, -2.0, 0.5])

    def onBuildConstraintSystemEndEvent(self, event):
        solver = self.getContext().solver
        self.seen = solver.W().copy(), solver.dfree().copy(), solver.lambda_force().copy()

    def onSolveConstraintSystemEndEvent(self, event):
        self.getContext().solver.lambda_force()[:] = self.lam


def test_what_a_controller_writes_into_lambda_is_what_moves_the_body(three_cables, root, run):
    """v = H^T lambda / m; W is complete when the controller first looks, and lambda still 0."""
    controller = Overwrite(name="overwrite")
    _, dofs = three_cables(controller)
    run(root, 1)
    W, H = dense()
    assert controller.seen[0] == pytest.approx(W)
    assert not controller.seen[2].any()
    assert dofs.velocity.array()[0] == pytest.approx(H.T @ Overwrite.lam / 2.0)
    assert dofs.position.array()[0] == pytest.approx(0.01 * H.T @ Overwrite.lam / 2.0)


def test_the_loop_adds_a_solver_when_there_is_none(root, integrated, run):
    root.addObject("FreeMotionAnimationLoop")
    node = integrated(root, "body", np.zeros((1, 3)))
    node.addObject("UniformMass", vertexMass=2.0)
    node.addObject("LinearSolverConstraintCorrection")
    run(root, 1)
    assert root.getObject("GenericConstraintSolver") is not None
