"""The plan of a step, and the parts that are computed together."""

import gc

import numpy as np
import pytest

from sofa_softctl.runtime.behavior.constraint import LagrangianConstraint
from sofa_softctl.runtime.core.data.data import DataWatch
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.simulation.followers import SingleFollower, WeightedRun
from sofa_softctl.runtime.simulation.simulation import animate, init, loop_of
from sofa_softctl.runtime.simulation.step_plan import plan_step

pytestmark = pytest.mark.quick

CUBE = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
TETRAHEDRA = [[0, 4, 6, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 1, 5, 7], [0, 2, 3, 7], [0, 1, 3, 7]]


def cable_node(body, name, points, pull_point, force):
    node = body.addChild(name)
    node.addObject("MechanicalObject", name="dofs", position=points)
    node.addObject(
        "CableConstraint",
        name="cable",
        indices=list(range(len(points))),
        pullPoint=pull_point,
        valueType="force",
        value=[force],
    )
    node.addObject("BarycentricMapping")
    return node


@pytest.fixture
def cube():
    """A soft cube, fixed below, with two cables and a rigid body beside it."""
    root = Node("root", dt=0.01, gravity=[0.0, 0.0, -9.81])
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver", tolerance=1e-9, maxIterations=100)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    body.addObject("MeshTopology", position=CUBE, tetrahedra=TETRAHEDRA)
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=1.0)
    body.addObject("TetrahedronFEMForceField", youngModulus=500.0, poissonRatio=0.3)
    body.addObject("FixedProjectiveConstraint", indices=[0, 2, 4, 6])
    body.addObject("LinearSolverConstraintCorrection")
    cable_node(body, "left", [[0.2, 0.2, 0.9], [0.2, 0.2, 0.4]], [0.2, 0.2, 2.0], 0.05)
    cable_node(body, "right", [[0.8, 0.7, 0.8]], [0.8, 0.9, 2.0], 0.02)
    inner = body.getChild("left").addChild("inner")
    inner.addObject("MechanicalObject", name="dofs")
    inner.addObject("SubsetMapping", indices=[1])
    init(root)
    return root


def test_the_plan_is_in_the_order_of_a_step_and_names_what_is_computed_together(cube):
    lines = plan_step(cube)
    phases = list(dict.fromkeys(line.phase for line in lines))
    assert phases == [
        "free motion", "constraint rows and W", "constraint solver", "correction", "mappings",
    ]  # fmt: skip
    text = "\n".join(f"{line.subject}: {line.action}" for line in lines)
    assert "/body/left/cable, /body/right/cable (CableConstraint): 2 rows, one kernel" in text
    assert "place 4 points, one kernel" in text
    assert "step of 24 degrees of freedom, 12 of them fixed" in text


def test_followers_of_a_run_are_where_their_mappings_put_them(cube):
    for _ in range(5):
        animate(cube)
    (system,) = loop_of(cube).systems
    (run,) = system.followers
    assert isinstance(run, WeightedRun)
    names = ("position", "velocity", "free_position", "free_velocity")
    run.place_free(0.01)
    for mapping in run.mappings:
        placed = {name: mapping.child._data[name].get().copy() for name in names}
        single = SingleFollower(mapping)
        single.place()
        single.place_free(0.01)
        for name in names:
            difference = mapping.child._data[name].get() - placed[name]
            assert np.abs(difference).max() < 1e-15, name
    child = system.mapped[0]
    assert np.shares_memory(child.position.get(), system.vectors.position)


def test_a_state_whose_array_was_replaced_moves_with_the_new_numbers(cube):
    animate(cube)
    dofs = cube.getChild("body").getObject("dofs")
    raised = dofs.position.get() + [0.0, 0.0, 0.5]
    dofs.position.set(raised)  # as a Data that it follows does
    animate(cube)
    (system,) = loop_of(cube).systems
    assert dofs.position.get()[0] == pytest.approx(raised[0])  # a fixed node
    assert np.shares_memory(dofs.position.get(), system.vectors.position)
    left = cube.getChild("body").getChild("left").getObject("dofs")
    assert left.position.get()[0, 2] == pytest.approx(1.4, abs=0.05)


def test_rows_of_cables_are_their_gradients_and_their_violation_is_first_order(cube):
    for _ in range(3):
        animate(cube)
    cable = cube.getChild("body").getChild("left").getObject("cable")
    problem, (system,) = loop_of(cube).problem, loop_of(cube).systems
    x = cable.state.position.get().copy()
    x_free = cable.state.free_position.get().copy()
    problem.build(0.0)
    number = problem.active.index(cable)
    _, _, directions = problem.given[number][2]
    length = lambda p: sum(  # noqa: E731
        np.linalg.norm(a - b) for a, b in zip([[0.2, 0.2, 2.0], *p], p, strict=False)
    )
    step = 1e-6
    for node in range(2):
        for axis in range(3):
            change = np.zeros_like(x)
            change[node, axis] = step
            slope = (length(x + change) - length(x - change)) / (2.0 * step)
            assert directions[node, axis] == pytest.approx(-slope, abs=1e-8)
    expected = cable.cableInitialLength.get() - length(x) + np.vdot(directions, x_free - x)
    assert problem.delta_free[number] == pytest.approx(expected, abs=1e-14)
    assert system.vectors.size == 8


def test_a_cable_that_is_changed_between_steps_has_its_new_row(cube):
    animate(cube)
    cable = cube.getChild("body").getChild("right").getObject("cable")
    cable.pullPoint.value = [0.8, 0.9, 3.0]
    animate(cube)
    p = cable.state.reset_position.get()[0]
    assert cable.cableLength.get() == pytest.approx(np.linalg.norm([0.8, 0.9, 3.0] - p), abs=0.05)
    cable.value.value = [0.5]
    animate(cube)
    assert cable.force.get() == pytest.approx(0.5)


def test_a_drive_changes_parameters_and_leaves_the_rows_arranged(cube):
    animate(cube)
    problem = loop_of(cube).problem
    arranged = problem.blocks
    cube.getChild("body").getChild("right").getObject("cable").value.value = [0.25]
    animate(cube)
    assert problem.blocks is arranged and 0.25 in problem.lam
    cube.getChild("body").getChild("right").getObject("cable").pullPoint.value = [1.0, 1.0, 3.0]
    animate(cube)
    assert problem.blocks is not arranged


def test_a_cable_whose_time_has_ended_has_no_row(cube):
    animate(cube)
    cube.getChild("body").getChild("left").getObject("cable").endTime.value = 0.005
    animate(cube)
    problem = loop_of(cube).problem
    assert [constraint.getPathName() for constraint in problem.active] == ["/body/right/cable"]
    assert problem.count == 1 and problem.lam[0] == pytest.approx(0.02)


def test_every_constraint_of_a_block_is_solved_as_alone(cube):
    for _ in range(3):
        animate(cube)
    problem = loop_of(cube).problem
    for block, _ in problem.row_blocks:
        rows = np.concatenate([member.resolution() for member in block.members])
        assert np.array_equal(block.parameters(), rows)
        assert all(isinstance(member, LagrangianConstraint) for member in block.members)


def test_a_watch_notices_values_links_and_followed_values():
    root = Node("root")
    source = root.addObject("MechanicalObject", name="source", position=[[0.0, 0.0, 0.0]])
    follower = root.addChild("below").addObject("UniformMass", totalMass=1.0)
    watch = DataWatch([source.position, follower.totalMass])
    assert watch.has_changed()
    assert not watch.has_changed()
    source.position.value = [[1.0, 0.0, 0.0]]
    assert watch.has_changed()
    assert not watch.has_changed()
    other = root.addChild("other").addObject("UniformMass", totalMass=2.0)
    follower.totalMass.setParent(other.totalMass)
    assert watch.has_changed()
    other.totalMass.value = 3.0
    assert watch.has_changed()
    assert follower.totalMass.get() == 3.0


def test_a_view_from_before_the_start_shows_the_present_positions():
    root = Node("root", dt=0.01, gravity=[0.0, 0.0, -9.81])
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("CGLinearSolver", iterations=25, tolerance=1e-9, threshold=1e-9)
    dofs = body.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    body.addObject("UniformMass", totalMass=1.0)
    view = dofs.position.value
    init(root)
    for _ in range(3):
        animate(root)
        assert np.array_equal(view, dofs.position.value) and view[0, 2] < 0.0


def test_a_view_shows_the_present_positions_after_changes_of_the_graph(cube):
    body = cube.getChild("body")
    states = [body.getObject("dofs"), body.getChild("left").getObject("dofs")]
    views = [(state, state.position.value) for state in states]
    for step in range(6):
        if step == 1:
            cable_node(body, "late", [[0.5, 0.5, 0.5]], [0.5, 0.5, 2.0], 0.01).init()
        if step == 3:
            body.removeChild(body.getChild("late"))
        animate(cube)
        for state, view in views:
            assert np.array_equal(view, state.position.value), (step, state.getPathName())
    gc.collect()  # of the plans in between
    animate(cube)
    assert [len(state.position.earlier_arrays) for state in states] == [1, 1]
    del views, view
    animate(cube)
    assert [len(state.position.earlier_arrays) for state in states] == [0, 0]


def test_the_plan_tells_methods_apart():
    root = Node("root", dt=0.01)
    explicit = root.addChild("explicit")
    explicit.addObject("EulerExplicitSolver")
    explicit.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    explicit.addObject("UniformMass", totalMass=1.0)
    explicit.addObject("RestShapeSpringsForceField", points=[0], stiffness=1.0)
    iterative = root.addChild("iterative")
    iterative.addObject("EulerImplicitSolver")
    iterative.addObject("CGLinearSolver", iterations=25, tolerance=1e-9, threshold=1e-9)
    iterative.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0]])
    iterative.addObject("UniformMass", totalMass=1.0)
    init(root)
    actions = {line.subject.rpartition("(")[2]: line.action for line in plan_step(root)}
    assert actions["RestShapeSpringsForceField)"] == "forces"
    assert actions["CGLinearSolver)"] == "solve by iterations"
    empty = Node("root")
    init(empty)
    assert [line.action for line in plan_step(empty)] == [
        "nothing moves: there is no time integrator"
    ]
