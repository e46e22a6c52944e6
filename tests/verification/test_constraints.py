"""The constrained step in compliance space, recomputed with dense matrices.

At the start-of-step positions x: rows H, W = h H A^-1 H^T, delta_free = H (x_free - x) + g(x),
delta = W lambda + delta_free; then x+ = x_free + h A^-1 H^T lambda, v+ = v_free + A^-1 H^T lambda.
lambda is h times the effort in second order, the effort itself in first order.
"""

import numpy as np
import pytest
import scipy.optimize

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

PULL = np.array([0.7, -3.0, 6.0])
TIGHT = {"tolerance": 1e-14, "threshold": 1e-30, "iterations": 1000}


def length(points, pull=None):
    """Of a cable through the points, from the pull point on."""
    chain = points if pull is None else np.vstack([pull, points])
    return np.linalg.norm(np.diff(chain, axis=0), axis=1).sum()


def gradient(function, x, step=1e-6):
    """Central differences, shape of x; error step^2 and 1e-10 by rounding."""
    out = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        moved = x.copy()
        moved[place] += step
        above = function(moved)
        moved[place] -= 2.0 * step
        out[place] = (above - function(moved)) / (2.0 * step)
    return out


def weights_of(mapping, count):
    """J of a mapping as a dense matrix by nodes, shape (n_child, count)."""
    starts, nodes, factors = mapping.weights()
    J = np.zeros((len(starts) - 1, count))
    for i in range(len(J)):
        np.add.at(J[i], nodes[starts[i] : starts[i + 1]], factors[starts[i] : starts[i + 1]])
    return J


class Robot:
    """A clamped beam with a cable on its own nodes, one through carried points, and one row that
    looks at the tip; `H` recomputes the rows by finite differences."""

    guides = np.array([[0.5, 0.9, 0.5], [0.6, 0.8, 1.5], [0.5, 0.9, 2.4]])
    own = (29, 25, 17)

    def __init__(self, root, box, soft_body, linear_solver, **options):
        root.dt, root.gravity = 0.02, [0.0, -5.0, 1.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", tolerance=1e-13, maxIterations=10000)
        points, tetrahedra = box((1, 1, 4), (1.0, 1.0, 3.0))
        points = np.vstack([points, points + [0.0, 1.0, 0.0]])  # two beams side by side
        tetrahedra = np.vstack([tetrahedra, tetrahedra + len(points) // 2])
        self.node = node = soft_body(
            root, (points, tetrahedra), linear_solver=linear_solver, young=800.0, poisson=0.3,
            method="large", rayleighStiffness=0.02, rayleighMass=8.0, **options,
        )  # fmt: skip
        if linear_solver == "CGLinearSolver":
            for name, value in TIGHT.items():
                node.linear_solver.findData(name).value = value
        node.addObject("LinearSolverConstraintCorrection", name="correction")
        self.clamp = np.flatnonzero(points[:, 2] < 1e-9)
        node.addObject("FixedProjectiveConstraint", indices=self.clamp.tolist())
        self.cables = [
            node.addObject(
                "CableConstraint", name="inner", indices=list(self.own), hasPullPoint=False,
                value=0.1,
            )
        ]  # fmt: skip
        child = node.addChild("guides")
        child.addObject("MechanicalObject", name="dofs", position=self.guides.tolist())
        self.mapping = child.addObject("BarycentricMapping")
        self.cables.append(
            child.addObject(
                "CableConstraint",
                name="outer",
                indices=[2, 1, 0],
                pullPoint=PULL.tolist(),
                value=[0.15],
            )  # fmt: skip
        )
        self.tip = node.addObject(
            "PositionConstraint", indices=[13], useDirections=[0, 1, 0], valueType="force",
            value=0.0,
        )  # fmt: skip
        simulation.init(root)
        self.root, self.x0, self.J = root, points, weights_of(self.mapping, len(points))

    def functions(self):
        """g of each row as a function of the body's nodes, in the order of the rows."""
        lengths = [
            lambda x: length(x[list(self.own)]),
            lambda x: x[13, 1],
            lambda x: length((self.J @ x)[[2, 1, 0]], PULL),
        ]
        at_rest = [f(self.x0) for f in lengths]
        return [
            lambda x: at_rest[0] - lengths[0](x),
            lambda x: lengths[1](x) - at_rest[1],
            lambda x: at_rest[2] - lengths[2](x),
        ]

    def H(self, x):
        """Rows by finite differences, columns of held nodes cleared, shape (3, 3 n)."""
        rows = []
        for function in self.functions():
            row = gradient(function, x)
            row[self.clamp] = 0.0
            rows.append(row.ravel())
        return np.array(rows)

    def step(self):
        """Make a step; start-of-step positions, A, H and the problem of that step."""
        x = self.node.dofs.position.array().copy()
        simulation.animate(self.root)
        A = self.node.linear_solver.A().toarray()
        return x, A, self.H(x), simulation.loop_of(self.root).problem

    def state(self, name):
        return self.node.dofs.findData(name).array().copy()


@pytest.fixture(
    params=["direct", "conjugate gradients", "first order"],
)
def robot(request, root, box, soft_body):
    solver = "CGLinearSolver" if request.param == "conjugate gradients" else "SparseLDLSolver"
    return Robot(root, box, soft_body, solver, firstOrder=request.param == "first order")


def test_rows_are_those_of_the_graph(robot):
    """A parent's constraints in order of addition, then its children's; the problem counts 3."""
    robot.step()
    order = [robot.cables[0], robot.tip, robot.cables[1]]
    assert [entry.constraintIndex.value for entry in order] == [0, 1, 2]


def test_the_compliance_is_h_H_A_inverse_H_transposed(robot):
    """W of the third step against dense LAPACK; 1e-7 relative for H by finite differences."""
    for _ in range(3):
        x, A, H, problem = robot.step()
    expected = robot.root.dt.value * H @ np.linalg.solve(A, H.T)
    assert problem.W == pytest.approx(expected, rel=1e-7, abs=1e-9 * expected.max())


def test_the_compliance_is_symmetric_and_positive(robot):
    """Maxwell and Betti: W = W^T (1e-12 by rounding or the iterations); z^T W z > 0."""
    robot.step()
    _, _, _, problem = robot.step()
    W = problem.W
    assert pytest.approx(W.T, abs=1e-12 * W.max()) == W
    assert np.linalg.eigvalsh((W + W.T) / 2.0).min() > 1e-6 * W.max()


def test_delta_free_is_linearised_at_the_start_of_the_step(robot):
    """H (x_free - x) + g(x), although H at x_free would be another."""
    for _ in range(3):
        x, _, H, problem = robot.step()
    motion = (robot.state("free_position") - x).ravel()
    expected = H @ motion + [g(x) for g in robot.functions()]
    assert np.abs(motion).max() > 1e-3
    assert problem.delta_free == pytest.approx(expected, abs=1e-9)


def test_free_positions_move_by_the_free_velocities(robot):
    """x_free = x + h v_free, held nodes stay."""
    for _ in range(2):
        x, _, _, _ = robot.step()
    v_free = robot.state("free_velocity")
    assert robot.state("free_position") == pytest.approx(x + 0.02 * v_free, abs=1e-14)
    assert not v_free[robot.clamp].any()


def test_the_correction_moves_by_the_multipliers(robot):
    """v+ = v_free + A^-1 H^T lambda and x+ = x + h v+; x+ = x_free + h A^-1 H^T lambda."""
    for _ in range(2):
        x, A, H, problem = robot.step()
    change = np.linalg.solve(A, H.T @ problem.lam).reshape(-1, 3)
    assert np.abs(change).max() > 1e-3
    tolerance = 1e-7 * np.abs(change).max()
    assert robot.state("velocity") - robot.state("free_velocity") == pytest.approx(
        change, abs=tolerance
    )
    assert robot.state("position") - robot.state("free_position") == pytest.approx(
        0.02 * change, abs=0.02 * tolerance
    )


def test_what_is_imposed_is_reached(robot):
    """delta = W lambda + delta_free: the cables' values, and lambda = 0 for the third row. The sum
    of the last changes is below 3e-13, times a contraction that is not small: 1e-11."""
    _, _, _, problem = robot.step()
    delta = problem.W @ problem.lam + problem.delta_free
    assert delta[[0, 2]] == pytest.approx([0.1, 0.15], abs=1e-11)
    assert problem.lam[1] == 0.0


def test_the_linear_prediction_of_delta_is_what_happens(robot):
    """H (x+ - x) + g(x) = delta: the correction does what W promises."""
    for _ in range(2):
        x, _, H, problem = robot.step()
    delta = problem.W @ problem.lam + problem.delta_free
    moved = H @ (robot.state("position") - x).ravel() + [g(x) for g in robot.functions()]
    assert moved == pytest.approx(delta, abs=1e-9)


@pytest.mark.parametrize("robot", ["direct", "first order"], indirect=True)
def test_at_the_end_the_cables_have_the_imposed_length(robot):
    """When nothing moves any more the linearisation is no approximation: L0 - L = value, to the
    1e-11 of the solver. Damping brings the beam to rest in 400 steps."""
    simulation.animateNSteps(robot.root, 400)
    x = robot.state("position")
    assert np.abs(robot.state("velocity")).max() < 1e-7
    g = robot.functions()
    assert [g[0](x), g[2](x)] == pytest.approx([0.1, 0.15], abs=1e-8)
    assert [cable.displacement.value for cable in robot.cables] == pytest.approx(
        [0.1, 0.15], abs=1e-8
    )


@pytest.mark.soak
@pytest.mark.parametrize("robot", ["direct", "first order"], indirect=True)
def test_at_the_end_forces_balance(robot):
    """h f(x) + H^T lambda = 0 in second order, f(x) + H^T lambda = 0 in first order, f with
    gravity: what a tension of lambda / h, or lambda, asks of a body at rest."""
    simulation.animateNSteps(robot.root, 400)
    x, _, H, problem = robot.step()
    system = simulation.loop_of(robot.root).systems[0]
    system.compute_force()
    force = system.force.copy()
    force[robot.clamp] = 0.0
    factor = 1.0 if robot.node.integrator.firstOrder.value else 0.02
    pulled = (H.T @ problem.lam).reshape(-1, 3)
    assert np.abs(pulled).max() > 0.1
    assert factor * force == pytest.approx(-pulled, abs=1e-6 * np.abs(pulled).max())


def test_effort_on_one_row_moves_the_other_as_much_as_the_other_way_round(root, box, soft_body):
    """Maxwell's reciprocity by experiment: unit lambda on cable i changes row j by W_ij, and that
    is what unit lambda on j does to i."""
    robot = Robot(root, box, soft_body, "SparseLDLSolver")
    snapshot = robot.state("position"), robot.state("velocity")
    for cable in robot.cables:
        cable.valueType.value = "force"
    deltas = []
    for lam in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0]):
        for cable, value in zip(robot.cables, lam, strict=True):
            cable.value.value = [value]
        robot.node.dofs.position.value, robot.node.dofs.velocity.value = snapshot
        simulation.loop_of(root).propagate()
        x, _, H, problem = robot.step()
        moved = (robot.state("position") - x).ravel()
        deltas.append(H[[0, 2]] @ moved)
    by_first, by_second = deltas[1] - deltas[0], deltas[2] - deltas[0]
    assert by_first[1] == pytest.approx(by_second[0], rel=1e-7, abs=0.0)
    measured = np.array([by_first, by_second])
    assert measured == pytest.approx(problem.W[np.ix_([0, 2], [0, 2])], rel=1e-7, abs=0.0)


# -- particles in closed form --------------------------------------------------------------------


@pytest.fixture
def pulled(root, particles):
    """Makes a damped particle on a spring, k = 40, in the origin, with cables."""

    def make(*cables, **integrator):
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver", tolerance=1e-14, maxIterations=10000)
        node = particles(root, [[0.0, 0.0, 0.0]], mass=0.5, rayleighMass=15.0, **integrator)
        node.addObject("LinearSolverConstraintCorrection", name="correction")
        node.addObject("RestShapeSpringsForceField", stiffness=40.0)
        return [node.addObject("CableConstraint", name=f"c{i}", **c) for i, c in enumerate(cables)]

    return make


@pytest.mark.parametrize(("first_order", "factor"), [(False, 0.01), (True, 1.0)])
def test_a_force_stretches_the_spring_by_force_over_stiffness(
    first_order, factor, root, pulled, run
):
    """k u = F: lambda = h F in second order, an impulse, and F in first order. 400 damped steps
    leave less than 1e-10."""
    effort = 6.0
    (cable,) = pulled(
        {"pullPoint": [3.0, 4.0, 0.0], "valueType": "force", "value": factor * effort},
        firstOrder=first_order,
    )
    run(root, 400)
    u = effort / 40.0
    expected = np.array([[0.6 * u, 0.8 * u, 0.0]])
    assert cable.state.position.array() == pytest.approx(expected, abs=1e-10)
    assert cable.force.value == factor * effort
    assert cable.displacement.value == pytest.approx(u, abs=1e-10)


def test_two_cables_and_gravity_balance_the_spring(root, pulled, run):
    """k x = m g + F_1 d_1(x) + F_2 d_2(x), d_i the unit vectors to the pull points: the rest
    position against SciPy's root of these three equations."""
    ends, efforts = np.array([[2.0, 1.0, 0.0], [-1.0, 1.5, 1.0]]), np.array([30.0, 55.0])
    root.gravity = [0.0, -9.81, 0.0]
    cables = pulled(
        *(
            {"pullPoint": end.tolist(), "valueType": "force", "value": 0.01 * effort}
            for end, effort in zip(ends, efforts, strict=True)
        )
    )
    run(root, 600)

    def unbalanced(x):
        units = (ends - x) / np.linalg.norm(ends - x, axis=1)[:, None]
        return 40.0 * x - [0.0, -0.5 * 9.81, 0.0] - efforts @ units

    rest = scipy.optimize.fsolve(unbalanced, np.zeros(3), xtol=1e-13)
    assert np.linalg.norm(rest) > 0.5
    assert cables[0].state.position.array()[0] == pytest.approx(rest, abs=1e-10)


def test_a_cable_along_the_motion_is_shortened_exactly_in_one_step(root, pulled, run):
    """The length is linear along the cable, so that linearising it loses nothing."""
    (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], "value": 0.25})
    run(root, 1)
    x = cable.state.position.array()
    assert x == pytest.approx(np.array([[0.15, 0.2, 0.0]]), abs=1e-14)


@pytest.mark.parametrize("given", ["one step", "limited rate", "limited rate in SoftRobots"])
def test_a_limit_on_the_change_of_displacement_holds_in_every_step(
    given, root, pulled, run, monkeypatch
):
    """maxDispVariation: L0 - L = 0.1, 0.2, 0.25, 0.25 instead of 0.25 at once. In SoftRobots the
    limit counts from the displacement at the start of the last step, one behind: every length is
    held for two steps."""
    limit = {"maxDispVariation": 0.1} if "rate" in given else {}
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", str(int("SoftRobots" in given)))
    (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], "value": 0.25, **limit})
    found = []
    for _ in range(6):
        run(root, 1)
        found.append(5.0 - length(cable.state.position.array(), np.array([3.0, 4.0, 0.0])))
    expected = [0.1, 0.2, 0.25, 0.25, 0.25, 0.25] if limit else [0.25] * 6
    if "SoftRobots" in given:
        expected = [0.1, 0.1, 0.2, 0.2, 0.25, 0.25]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.soak(keep=1)
@pytest.mark.parametrize(
    ("cable", "lam", "displacement"),
    [
        ({"value": -0.2, "minForce": 0.0}, 0.0, None),  # a cable does not push
        ({"value": 9.0, "maxForce": 0.3}, 0.3, None),  # pulled no harder than the limit
        ({"value": 9.0, "maxPositiveDisp": 0.1}, None, 0.1),
        ({"value": -9.0, "maxNegativeDisp": 0.1}, None, -0.1),
        ({"value": 7.0, "valueType": "force", "maxForce": 0.3}, 0.3, None),
        ({"value": -7.0, "valueType": "force", "minForce": -0.3}, -0.3, None),
        ({"value": 7.0, "valueType": "force", "maxPositiveDisp": 0.1}, None, 0.1),
        ({"value": -7.0, "valueType": "force", "maxNegativeDisp": 0.1}, None, -0.1),
    ],
)
def test_limits_of_a_cable_hold(cable, lam, displacement, root, pulled, run):
    """At rest after 400 steps: lambda is at its limit and the spring at lambda / (h k), or the
    displacement is at its limit."""
    (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], **cable})
    run(root, 400)
    u = lam / (0.01 * 40.0) if displacement is None else displacement
    assert cable.displacement.value == pytest.approx(u, abs=1e-9)
    assert cable.force.value == pytest.approx(0.01 * 40.0 * u, abs=1e-9)
    assert cable.state.position.array()[0] == pytest.approx([0.6 * u, 0.8 * u, 0.0], abs=1e-9)


def test_a_slack_cable_does_not_disturb(root, pulled, run):
    """Longer than needed and not allowed to push: the particle hangs at m g / k."""
    root.gravity = [0.0, -9.81, 0.0]
    pulled({"pullPoint": [0.0, -5.0, 0.0], "value": -3.0, "minForce": 0.0})
    run(root, 400)
    expected = [[0.0, -0.5 * 9.81 / 40.0, 0.0]]
    assert root.particles.dofs.position.array() == pytest.approx(np.array(expected), abs=1e-10)


# -- corrections -----------------------------------------------------------------------------------


def uncoupled(root, particles, **values):
    """Two particles, a cable between them and one to a pull point, own compliances."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-14, maxIterations=10000)
    node = particles(root, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], mass=0.5)
    node.addObject("UncoupledConstraintCorrection", name="correction", **values)
    node.addObject("CableConstraint", indices=[0, 1], hasPullPoint=False, value=0.1)
    node.addObject("CableConstraint", indices=[0], pullPoint=[3.0, 4.0, 0.0], value=0.2)
    return node


@pytest.mark.parametrize(
    ("values", "c"),
    [
        ({"defaultCompliance": 0.3}, [0.3, 0.3]),
        ({"compliance": [0.3, 0.7]}, [0.3, 0.7]),
        ({"compliance": [0.3]}, [0.3, 0.3]),
        ({"compliance": [0.7], "defaultCompliance": 0.3}, [0.3, 0.3]),
        ({}, [1e-5, 1e-5]),
    ],
)
def test_uncoupled_nodes_have_a_compliance_of_their_own(values, c, root, particles, run):
    """W = h H C H^T and x+ = x_free + h C H^T lambda, C = diag(c), whatever A is. A list that is
    not as long as the nodes gives its first entry to all, or the default if that is set (SOFA)."""
    node = uncoupled(root, particles, **values)
    root.gravity = [0.0, 0.0, -3.0]
    run(root, 1)
    H = np.array([[0, 0, 1, 0, 0, -1], [0.6, 0.8, 0, 0, 0, 0]], float)
    C = np.diag(np.repeat(c, 3))
    problem = simulation.loop_of(root).problem
    assert problem.W == pytest.approx(0.01 * H @ C @ H.T, rel=1e-12, abs=0.0)
    change = (C @ H.T @ problem.lam).reshape(2, 3)
    v_free = np.array([[0.0, 0.0, -0.03]] * 2)
    assert node.dofs.velocity.array() == pytest.approx(v_free + change, abs=1e-12)
    expected = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]] + 0.01 * (v_free + change)
    assert node.dofs.position.array() == pytest.approx(expected, abs=1e-12)
    delta = problem.W @ problem.lam + problem.delta_free
    assert delta == pytest.approx([0.1, 0.2], abs=1e-12)


def test_factors_of_its_own_move_by_displacements(root, particles, run):
    """W = H C H^T, x+ = x_free + p C H^T lambda, v+ = v_free + (q / h) C H^T lambda."""
    factors = {"correctionPositionFactor": 0.8, "correctionVelocityFactor": 0.5}
    own = {"useOdeSolverIntegrationFactors": False, "defaultCompliance": 0.3}
    node = uncoupled(root, particles, **own, **factors)
    root.gravity = [0.0, 0.0, -3.0]
    run(root, 1)
    H = np.array([[0, 0, 1, 0, 0, -1], [0.6, 0.8, 0, 0, 0, 0]], float)
    problem = simulation.loop_of(root).problem
    assert problem.W == pytest.approx(0.3 * H @ H.T, rel=1e-12, abs=0.0)
    change = 0.3 * (H.T @ problem.lam).reshape(2, 3)
    v_free = np.array([[0.0, 0.0, -0.03]] * 2)
    assert node.dofs.velocity.array() == pytest.approx(v_free + 0.5 / 0.01 * change, abs=1e-12)
    expected = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]] + 0.01 * v_free + 0.8 * change
    assert node.dofs.position.array() == pytest.approx(expected, abs=1e-12)


def test_a_factor_of_the_compliance_scales_the_correction_too(root, pulled, run):
    """GenericConstraintCorrection: W and x+ - x_free are multiplied alike, so that the imposed
    displacement is reached whatever the factor; lambda is divided by it."""
    lams = []
    for factor in (1.0, 2.5):
        for entry in list(root.children):
            root.removeChild(entry)
        for entry in list(root.objects):
            root.removeObject(entry)
        (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], "value": 0.25})
        node = cable.getContext()
        node.removeObject(node.correction)
        node.addObject("GenericConstraintCorrection", complianceFactor=factor)
        simulation.init(root)
        simulation.animate(root)
        assert cable.state.position.array() == pytest.approx(
            np.array([[0.15, 0.2, 0.0]]), abs=1e-14
        )
        lams.append(cable.force.value)
    assert lams[0] == pytest.approx(2.5 * lams[1], rel=1e-12)


@pytest.mark.parametrize("where", ["solver", "correction"])
def test_a_regularisation_softens_the_constraint(where, root, pulled, run):
    """W + eps: lambda = (value - delta_free) / (W + eps), and the motion is W lambda only."""
    (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], "value": 0.25})
    holder = root.GenericConstraintSolver if where == "solver" else cable.getContext().correction
    holder.regularizationTerm.value = 1e-4
    run(root, 1)
    W = 0.01 / (0.5 * 1.15 + 40.0 * 1e-4)  # h / A of the particle, along the cable
    lam = 0.25 / (W + 1e-4)
    assert cable.force.value == pytest.approx(lam, rel=1e-12)
    assert np.linalg.norm(cable.state.position.array()) == pytest.approx(W * lam, rel=1e-12)


def test_a_step_of_another_length_reaches_what_is_imposed(root, pulled, run):
    """animate(root, dt) with another dt than the node's: A is that of dt, W and the correction both
    take the node's dt, as in SOFA."""
    (cable,) = pulled({"pullPoint": [3.0, 4.0, 0.0], "value": 0.25})
    simulation.init(root)
    simulation.animate(root, 0.004)
    assert root.time.value == 0.004
    assert cable.state.position.array() == pytest.approx(np.array([[0.15, 0.2, 0.0]]), abs=1e-14)


# -- several bodies --------------------------------------------------------------------------------


def bodies(root, box, soft_body, which):
    """Up to two beams beside each other, each with its own integrator, correction and cable."""
    root.dt, root.gravity = 0.01, [0.0, -9.81, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-14, maxIterations=10000)
    cables = []
    for name, shift, young, solver in (
        ("soft", 0.0, 300.0, "SparseLDLSolver"),
        ("stiff", 3.0, 5e3, "CGLinearSolver"),
    ):
        if name not in which:
            continue
        points, tetrahedra = box((1, 1, 2), (1.0, 1.0, 2.0))
        node = soft_body(
            root, (points + [shift, 0.0, 0.0], tetrahedra), name=name, young=young,
            method="large", linear_solver=solver,
        )  # fmt: skip
        if solver == "CGLinearSolver":
            for option, value in TIGHT.items():
                node.linear_solver.findData(option).value = value
        node.addObject("LinearSolverConstraintCorrection")
        node.addObject(
            "FixedProjectiveConstraint", indices=np.flatnonzero(points[:, 2] < 1e-9).tolist()
        )
        cables.append(
            node.addObject("CableConstraint", indices=[2, 5], pullPoint=[0, 2, -1], value=0.1)
        )
    return cables


def test_bodies_that_do_not_touch_move_as_if_alone(root, box, soft_body, run):
    """Two beams with solvers of their own: W is block diagonal, and each moves as in a scene of
    its own. 1e-11 for what the Gauss-Seidel tolerance leaves."""
    together = bodies(root, box, soft_body, ("soft", "stiff"))
    run(root, 20)
    W = simulation.loop_of(root).problem.W
    assert W[0, 1] == W[1, 0] == 0.0
    assert W[0, 0] > W[1, 1] > 0.0
    for cable in together:
        scene = type(root)(cable.getContext().getName(), gravity=[0, 0, 0])
        (alone,) = bodies(scene, box, soft_body, (cable.getContext().getName(),))
        run(scene, 20)
        assert cable.state.position.array() == pytest.approx(
            alone.state.position.array(), abs=1e-11
        )
        assert cable.force.value == pytest.approx(alone.force.value, rel=1e-9)


def test_states_under_one_integrator_each_with_an_uncoupled_correction(root, run):
    """Two particles in nodes of their own below one integrator: each correction answers for its
    own state, and every state moves once. The particle without a row falls freely."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-14)
    root.gravity = [0.0, -10.0, 0.0]
    root.addObject("EulerImplicitSolver")
    root.addObject("SparseLDLSolver")
    for name, compliance in (("first", 0.3), ("second", 0.7)):
        node = root.addChild(name)
        node.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
        node.addObject("UniformMass", totalMass=1.0)
        node.addObject("UncoupledConstraintCorrection", defaultCompliance=compliance)
    root.first.addObject("CableConstraint", name="cable", pullPoint=[0.0, 5.0, 0.0], value=0.2)
    run(root, 1)
    problem = simulation.loop_of(root).problem
    assert problem.W == pytest.approx(np.array([[0.01 * 0.3]]))
    assert root.first.dofs.position.array()[0] == pytest.approx([0.0, 0.2, 0.0], abs=1e-14)
    assert root.second.dofs.position.array()[0] == pytest.approx([0.0, -1e-3, 0.0], abs=1e-14)


def test_a_state_that_two_corrections_claim_is_an_error(root, pulled):
    """Its compliance would count twice, and it would move twice as far."""
    pulled({"value": 0.1})
    root.particles.addObject("UncoupledConstraintCorrection", name="second")
    with pytest.raises(SceneError, match="'/particles/second' corrects .*/correction' does: its"):
        simulation.init(root)


def test_a_state_without_a_correction_is_an_error(root, pulled):
    """SOFA leaves it where it is."""
    pulled({"value": 0.1})
    root.particles.removeObject(root.particles.correction)
    with pytest.raises(SceneError, match="has no constraint correction for .*/particles/dofs'"):
        simulation.init(root)


def test_a_state_on_which_nothing_acts_needs_no_correction(root, particles, run):
    """Such as a controller's target: no mass, no force, at rest. With a velocity it is an error."""
    root.addObject("FreeMotionAnimationLoop")
    node = particles(root, [[0.0, 0.0, 0.0]], linear_solver="CGLinearSolver")
    node.addObject("UncoupledConstraintCorrection", compliance=[1.0])
    target = node.addChild("target").addObject("MechanicalObject", position=[[1.0, 2.0, 3.0]])
    run(root, 2)
    assert target.position.array().tolist() == [[1.0, 2.0, 3.0]]
    target.velocity.value = [[1.0, 0.0, 0.0]]
    node.addChild("more")  # the graph is looked at again
    with pytest.raises(SceneError, match="has no constraint correction for .*/target/"):
        run(root, 1)


def test_a_state_that_is_held_needs_no_correction(root, particles, run):
    """It does not move anyway."""
    root.addObject("FreeMotionAnimationLoop")
    node = particles(root, [[1.0, 2.0, 3.0]])
    node.addObject("FixedProjectiveConstraint", indices=[0])
    run(root, 2)
    assert node.dofs.position.array().tolist() == [[1.0, 2.0, 3.0]]


def test_a_state_without_a_correction_stays_where_it_is(root, pulled, run):
    """As in SOFA: its velocity stays too, and neither gravity nor the cable moves it."""
    pulled({"value": 0.1})
    root.particles.removeObject(root.particles.correction)
    root.particles.dofs.velocity.value = [[1.0, 2.0, 3.0]] * len(root.particles.dofs.position)
    position, velocity = (
        root.particles.dofs.getData(name).array().copy() for name in ("position", "velocity")
    )
    with warnings_as_errors(False):
        run(root, 3)
    assert (root.particles.dofs.position.array() == position).all()
    assert (root.particles.dofs.velocity.array() == velocity).all()
