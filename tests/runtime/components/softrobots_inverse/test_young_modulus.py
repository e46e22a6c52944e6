import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.core.scripted import Controller
from sofa_softctl.runtime.simulation import simulation, snapshot

H = 0.01
"""Time step of the scenes."""


@pytest.fixture
def beam(root, grid, integrated, run):
    """Makes a heavy beam, clamped at z = 0, with actuators of its stiffness and an effector."""

    def make(*actuators, stretch=1.02, first_order=False, goal=(1.0, 0.0, 9.0), **elasticity):
        points, tetrahedra = grid((2, 2, 6), (2.0, 2.0, 9.0))
        root.gravity.value = [0.0, -10.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("QPInverseProblemSolver", name="solver", epsilon=1e-3)
        node = integrated(
            root, "beam", points * [1, 1, stretch], firstOrder=first_order, rayleighStiffness=0.02
        )
        node.dofs.rest_position.value = points
        node.addObject("MeshTopology", name="mesh", tetrahedra=tetrahedra.tolist())
        node.addObject("UniformMass", totalMass=1.0)
        values = {"youngModulus": 2000.0, "poissonRatio": 0.3, **elasticity}
        node.addObject("TetrahedronFEMForceField", name="elasticity", **values)
        node.addObject("FixedProjectiveConstraint", indices=np.flatnonzero(points[:, 2] == 0.0))
        node.addObject("LinearSolverConstraintCorrection")
        for values in actuators:
            node.addObject("YoungModulusActuator", **values)
        tip = int(np.argmin(np.abs(points - [1.0, 1.0, 9.0]).sum(axis=1)))
        node.addObject("PositionEffector", indices=[tip], effectorGoal=[goal])
        root.addObject(Imposed(name="imposed", root=root))
        run(root)
        return node

    return make


class Imposed(Controller):
    """Writes lambda over the solver's answer when it is given one."""

    def __init__(self, *args, root=None, **values):
        super().__init__(*args, **values)
        self.root, self.lam = root, None

    def onSolveConstraintSystemEndEvent(self, event):
        if self.lam is not None:
            self.root.solver.lambda_force()[:] = 0.0
            self.root.solver.lambda_force()[: len(self.lam)] = self.lam


def row_of(node, number=0):
    """df/dE of an actuator as it stands, shape (n, 3)."""
    actuator = next(iter(node.of("constraint")[number:]))
    row, nodes, directions = actuator.build()
    assert not row.any()
    full = np.zeros((node.dofs.count, 3))
    full[nodes] = directions
    return full


def force_of(field):
    force = np.zeros((field.state.count, 3))
    field.add_force(force)
    return force


def settle(root, run):
    """Bring the body to rest: steps so long that each is one of Newton's method."""
    root.dt.value = 1e4
    root.imposed.lam = [0.0]
    run(root, 60)
    root.dt.value = H
    run(root, 2)


def moved(root, run, start, *, change=0.0, lam=0.0):
    """State after one step from `start`, with another modulus or with lambda on the row."""
    snapshot.put_back(root, start)
    if change:
        field = root.beam.elasticity
        field.set_moduli(slice(None), field.moduli() + change)
    root.imposed.lam = [lam]
    run(root, 1)
    return root.beam.dofs.position.array().copy(), root.beam.dofs.velocity.array().copy()


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_the_row_is_the_change_of_the_force_with_the_modulus(method, beam):
    """f is linear in E: a difference quotient of any step is exact, to rounding."""
    node = beam({}, method=method)
    row = row_of(node)
    field = node.elasticity
    before = force_of(field)
    field.set_moduli(slice(None), 3000.0)
    assert (force_of(field) - before) / 1000.0 == pytest.approx(row, abs=1e-12)
    assert np.abs(row).max() > 1e-3


def test_factors_of_stiffness_are_in_the_row(beam):
    """localStiffnessFactor multiplies E, and so df/dE: threefold on half of the elements."""
    node = beam({}, localStiffnessFactor=[1.0, 3.0])
    row, field = row_of(node), node.elasticity
    before = force_of(field)
    field.set_moduli(slice(None), 2500.0)
    assert (force_of(field) - before) / 500.0 == pytest.approx(row, abs=1e-12)
    assert (force_of(field)) / 2500.0 == pytest.approx(row, abs=1e-12)


@pytest.mark.parametrize("first_order", [False, True])
def test_a_change_of_modulus_moves_the_body_as_its_row_says(first_order, beam, root, run):
    """From rest: a step with E + dE, against a step with lambda = h dE (dE in first order) on the
    row. The motion is of order dE, its error of order dE^2: theory 2, measured with 0.05."""
    node = beam({}, first_order=first_order)
    settle(root, run)
    start = snapshot.take_snapshot(root)
    factor = 1.0 if first_order else H
    still, _ = moved(root, run, start)
    errors, motions = [], []
    for change in (100.0, 50.0, 25.0):
        truth, _ = moved(root, run, start, change=change)
        guess, _ = moved(root, run, start, lam=factor * change)
        assert node.elasticity.youngModulus.value == pytest.approx([2000.0 + change], rel=1e-14)
        errors.append(np.abs(truth - guess).max())
        motions.append(np.abs(truth - still).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.05)
    assert np.log2(np.divide(motions[:-1], motions[1:])) == pytest.approx([1.0, 1.0], abs=0.05)


def test_in_motion_the_row_leaves_out_the_change_of_the_stiffness(beam, root, run):
    """A (v_true - v_row) = -h (h + beta) dE dK/dE v_true for any dE: both sides of the two steps,
    subtracted. Rounding of a velocity of 1 in differences of 1e-4: 1e-10."""
    node, change = beam({}), 200.0
    root.imposed.lam = [0.0]
    run(root, 3)
    start = snapshot.take_snapshot(root)
    _, truth = moved(root, run, start, change=change)
    _, guess = moved(root, run, start, lam=H * change)
    A = node.linear_solver.A().toarray()  # of the step with the row: E is still the old one
    snapshot.put_back(root, start)
    force_of(node.elasticity)
    product = np.zeros_like(truth)
    node.elasticity.add_product(product, truth, change / 2000.0)
    product[node.dofs.rest_position.array()[:, 2] == 0.0] = 0.0
    expected = np.linalg.solve(A, -H * (H + 0.02) * product.ravel()).reshape(-1, 3)
    assert np.abs(expected).max() > 1e-4
    assert truth - guess == pytest.approx(expected, abs=1e-9 * np.abs(expected).max() + 1e-13)


@pytest.mark.parametrize("first_order", [False, True])
def test_the_modulus_moves_by_its_effort_whatever_the_integrator(first_order, beam, root, run):
    """The solver drives E to its limit by the allowed ratio in every step: E 1.1^k. (E moved dt
    times too slowly in SoftRobots.Inverse.)"""
    node = beam(
        {"name": "stiffness", "maxYoungVariationRatio": 0.1, "maxYoung": 2500.0},
        first_order=first_order,
        goal=(1.0, 9.0, 9.0),
    )
    found = []
    for _ in range(4):
        run(root, 1)
        found.append(node.elasticity.youngModulus.value[0])
    assert found == pytest.approx([2200.0, 2420.0, 2500.0, 2500.0], rel=1e-9)
    assert node.stiffness.youngModulus.value == found[-1]


def test_the_modulus_falls_no_deeper_than_its_least(beam, root, run):
    node = beam({"minYoung": 1500.0, "maxYoungVariationRatio": 0.2}, goal=(1.0, -3.0, 9.0))
    run(root, 40)
    found = []
    for _ in range(3):
        run(root, 1)
        found.append(node.elasticity.youngModulus.value[0])
    assert found == pytest.approx([1500.0] * 3, rel=1e-9)


def test_a_modulus_outside_its_limits_comes_back_by_its_ratio(beam, root, run):
    """From 2000 to at most 1000, by 20 % a step, whatever the goal."""
    node = beam({"maxYoung": 1000.0, "maxYoungVariationRatio": 0.2}, goal=(1.0, 1.0, 9.0))
    found = []
    for _ in range(5):
        run(root, 1)
        found.append(node.elasticity.youngModulus.value[0])
    assert found == pytest.approx([1600.0, 1280.0, 1024.0, 1000.0, 1000.0], rel=1e-9)


def test_an_undeformed_body_keeps_its_modulus(beam, root, run):
    """At the rest shape no modulus changes anything: the row is zero."""
    node = beam({"maxYoungVariationRatio": 0.1}, stretch=1.0)
    run(root, 1)
    assert node.elasticity.youngModulus.value.tolist() == [2000.0]
    run(root, 1)
    assert node.elasticity.youngModulus.value[0] != 2000.0


def test_regions_of_one_force_field_change_alone(beam, root, run):
    """Elements 0-71 and 72-143: each actuator moves its own, and the rows are those of the parts;
    together they are the whole."""
    node = beam(
        {"elements": "0-71", "name": "foot", "maxYoung": 2100.0},
        {"elements": list(range(72, 144)), "name": "tip", "minYoung": 1900.0},
    )
    whole = force_of(node.elasticity) / 2000.0
    assert row_of(node, 0) + row_of(node, 1) == pytest.approx(whole, abs=1e-13)
    root.imposed.lam = [0.5, -0.25]
    run(root, 1)
    expected = np.repeat([2000.0 + 0.5 / H, 2000.0 - 0.25 / H], 72)
    assert node.elasticity.youngModulus.value == pytest.approx(expected, rel=1e-14)
    assert node.foot.youngModulus.value == pytest.approx(2050.0, rel=1e-14)
    assert node.tip.youngModulus.value == pytest.approx(1975.0, rel=1e-14)


def test_regions_may_be_force_fields_of_sub_topologies(root, beam, grid, run):
    """As in SoftRobots.Inverse's example: child nodes with tetrahedra, a force field and an
    actuator, on the state of the parent."""
    points, tetrahedra = grid((2, 2, 6), (2.0, 2.0, 9.0))
    node = beam({"name": "whole"}, youngModulus=500.0)
    for name, part in (("foot", tetrahedra[:72]), ("tip", tetrahedra[72:])):
        child = node.addChild(name)
        child.addObject(
            "TetrahedronSetTopologyContainer", tetrahedra=part.tolist(), position=points
        )
        child.addObject("TetrahedronFEMForceField", name="elasticity", youngModulus=1000.0)
        child.addObject("YoungModulusActuator", name="stiffness")
        child.init()
    run(root, 1)
    fields = [node.elasticity, node.foot.elasticity, node.tip.elasticity]
    before = [field.youngModulus.value[0] for field in fields]
    root.imposed.lam = [0.0, 0.0, 0.0, 0.0, 1.0, -2.0]  # whole, three of the effector, foot, tip
    run(root, 1)
    after = [field.youngModulus.value[0] for field in fields]
    assert np.subtract(after, before) == pytest.approx([0.0, 1.0 / H, -2.0 / H], rel=1e-9)


@pytest.mark.parametrize("defects", ["0", "1"])
def test_a_change_that_is_only_sought_changes_nothing(beam, root, run, monkeypatch, defects):
    """SOFA's changes the modulus all the same."""
    monkeypatch.setenv("SOFTCTL_SOFA_DEFECTS", defects)
    node = beam({"applyForce": False}, goal=(1.0, 1.0, 9.0))
    run(root, 3)
    assert (node.elasticity.youngModulus.value.tolist() == [2000.0]) == (defects == "0")


def test_a_reset_gives_the_force_field_its_modulus_back(beam, root, run):
    """And the same steps then give the same numbers, bit for bit."""
    node = beam({"name": "stiffness"}, goal=(1.0, 1.0, 9.0))
    tips = []
    for _ in range(2):
        run(root, 5)
        tips.append(node.dofs.position.array().copy())
        assert node.elasticity.youngModulus.value[0] != 2000.0
        simulation.reset(root)
        assert node.elasticity.youngModulus.value.tolist() == [2000.0]
        assert node.stiffness.youngModulus.value == 2000.0
    assert (tips[0] == tips[1]).all()


def test_a_snapshot_holds_the_modulus(beam, root, run):
    node = beam({"maxYoungVariationRatio": 0.01}, goal=(1.0, 1.0, 9.0))
    run(root, 2)
    kept = snapshot.take_snapshot(root)
    run(root, 3)
    first = node.dofs.position.array().copy()
    snapshot.put_back(root, kept)
    run(root, 3)
    assert (node.dofs.position.array() == first).all()


@pytest.mark.parametrize(
    ("actuator", "elasticity", "message"),
    [
        ({"minYoung": 5.0, "maxYoung": 4.0}, {}, "needs 0 <= minYoung <= maxYoung"),
        ({"maxYoungVariationRatio": -1.0}, {}, "maxYoungVariationRatio -1"),
        ({"elements": [0, 144]}, {}, "has 'elements' with 144, but .* has 144 tetrahedra"),
        ({}, {"youngModulus": [1.0, 2.0]}, "finds Young's moduli from 1 to 2: it moves one"),
        ({}, {"youngModulus": 0.0}, "it moves one modulus, above 0"),
    ],
)
def test_an_actuator_that_cannot_be_is_an_error(actuator, elasticity, message, beam, tolerant):
    with pytest.raises(SceneError, match=message):
        beam(actuator, **elasticity)


def test_an_actuator_without_elasticity_is_an_error(root, integrated, run):
    node = integrated(root, "body", [[0.0, 0.0, 0.0]])
    node.addObject("UniformMass", vertexMass=1.0)
    node.addObject("YoungModulusActuator")
    with pytest.raises(SceneError, match="needs a TetrahedronFEMForceField or Assumed"):
        run(root)
