"""InverseController in scenes of the embedded runtime."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.qp import solvers
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session

find_backend("embedded")

from sofa_softctl.inverse.controller import InverseController  # noqa: E402
from sofa_softctl.inverse.rows.effectors import add_effector  # noqa: E402

_spec = importlib.util.spec_from_file_location(
    "parity_scenes", Path(__file__).parents[1] / "parity" / "parity_scenes.py"
)
parity = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(parity)

TIP = [10.0, 10.0, 90.0]
CABLES = {"left": 3.0, "right": 17.0}


def goal(time):
    """The tip's goal: aside and a little down, as a beam bends."""
    share = min(time / 0.2, 1.0)
    return np.array(TIP) + share * np.array([8.0, -1.0, -1.0])


def body(root, component, **options):
    """The soft beam with two cables of the given component, and its tip's node."""
    root.addObject("FreeMotionAnimationLoop")
    node = parity.beam(root)
    node.addObject("LinearSolverConstraintCorrection")
    cables = []
    for name, x in CABLES.items():
        child = node.addChild(name)
        path = [[x, 10.0, z] for z in (5.0, 30.0, 55.0, 80.0)]
        child.addObject("MechanicalObject", position=path)
        cables.append(
            child.addObject(
                component, name="cable", indices=[0, 1, 2, 3], pullPoint=[x, 10.0, 0.0], **options
            )
        )
        child.addObject("BarycentricMapping")
    tip = node.addChild("tip")
    tip.addObject("MechanicalObject", name="dofs", position=[TIP])
    return cables, tip


def controlled(root, energy=1e-3, goal=goal, **limits):
    """The beam under InverseController."""
    root.addObject("GenericConstraintSolver")
    options = {"valueType": "force", "value": [0.0], "minForce": 0.0} | limits
    cables, tip = body(root, "CableConstraint", **options)
    effector = add_effector(tip)
    tip.addObject("BarycentricMapping")
    root.addObject(
        InverseController(
            name="inverse",
            root=root,
            actuators=cables,
            effectors=[effector],
            goal=goal,
            energy=energy,
        )
    )


def test_stock_components_give_what_the_components_of_softrobots_inverse_give():
    """The same QP from the same W: equal to its accuracy, 1e-10, over 30 steps with a rate limit
    that is active. SOFA's Data are multipliers, so the plugin's forces are dt times our efforts."""

    def with_plugin(root):
        root.addObject("QPInverseProblemSolver", epsilon=1e-3)
        _, tip = body(root, "CableActuator", minForce=0.0, maxDispVariation=0.05)
        effector = tip.addObject("PositionEffector", name="effector", effectorGoal=[TIP])
        tip.addObject("BarycentricMapping")
        root.addObject(MoveGoal(name="move", root=root, effector=effector))

    import Sofa.Core

    class MoveGoal(Sofa.Core.Controller):
        def __init__(self, *args, **kwargs):
            Sofa.Core.Controller.__init__(self, *args, **kwargs)
            self.root, self.effector = kwargs["root"], kwargs["effector"]

        def onAnimateBeginEvent(self, event):
            self.effector.effectorGoal.value = [goal(self.root.time.value + self.root.dt.value)]

    ours = Session(lambda root: controlled(root, maxDispVariation=0.05))
    theirs = Session(with_plugin)
    for _ in range(30):
        ours.step()
        theirs.step()
    x, y = (s.root.beam.dofs.position.value for s in (ours, theirs))
    assert np.abs(x - y).max() < 1e-8
    efforts = ours.root.inverse.effort.value
    forces = [theirs.root.beam.getChild(name).cable.force.value for name in CABLES]
    assert efforts * ours.dt == pytest.approx(forces, abs=1e-8)
    assert ours.root.inverse.displacement.value == pytest.approx(
        [theirs.root.beam.getChild(name).cable.displacement.value for name in CABLES], abs=1e-9
    )
    assert any("displacement rate" in limit for limit in ours.root.inverse.step_counts.limits_met)


def test_the_reported_error_is_the_distance_between_tip_and_goal():
    session = Session(controlled)
    session.step(25)
    inverse = session.root.inverse
    tip = session.root.beam.tip.dofs.position.value[0]
    assert inverse.tip.value[0] == pytest.approx(tip, abs=1e-12)
    assert inverse.error.value[0] == pytest.approx(np.linalg.norm(tip - goal(0.25)), abs=1e-12)


def test_the_predicted_effector_error_is_the_one_that_the_step_makes():
    """delta = W lambda + delta_free is exact for a linear mapping: the prediction equals what the
    correction does, to rounding."""
    session = Session(controlled)
    session.step(10)
    inverse = session.root.inverse
    predicted = inverse.solution.effector_error
    made = inverse.tip.value[0] - goal(session.time)
    assert predicted == pytest.approx(made, abs=1e-10)


def test_cables_only_pull_when_their_least_force_is_zero():
    session = Session(controlled)
    session.step(30)
    inverse = session.root.inverse
    assert inverse.effort.value.min() >= 0.0
    assert "left: effort at its minimum" in inverse.step_counts.limits_met


def test_limits_that_contradict_each_other_are_relaxed_by_name():
    """At most 1 mN of tension cannot hold the sagging beam's cable at a displacement of -0.01 mm
    to 0.01 mm: the tension's limit holds, the displacement's is exceeded and named."""
    session = Session(
        lambda root: controlled(root, maxForce=1e-8, maxPositiveDisp=1e-3, maxNegativeDisp=1e-3)
    )
    session.step(20)
    inverse = session.root.inverse
    assert inverse.status.value == "CLOSEST_FEASIBLE"
    assert inverse.effort.value.max() <= 1e-8 / session.dt * (1 + 1e-9)
    assert any("displacement" in limit for limit in inverse.solution.relaxed)


def test_a_solver_that_fails_holds_the_robot_with_the_last_command(monkeypatch):
    """Both solvers return nonsense from step 11 on: the effort of step 10 stays."""
    session = Session(controlled)
    session.step(10)
    inverse = session.root.inverse
    before = inverse.effort.value.copy()
    inverse.solver = "nonsense"

    def nonsense(qp, warm):
        del warm
        good = solvers.find("daqp")(qp, None)
        return good._replace(x=good.x + np.nan)

    monkeypatch.setitem(solvers.DENSE._checked, "proxqp", nonsense)
    with solvers.DENSE.kept():
        solvers.register("nonsense", nonsense)
        session.step(5)
    assert inverse.status.value == "HELD"
    assert inverse.effort.value == pytest.approx(before, rel=1e-12)
    assert inverse.solution.message


def test_reset_gives_the_same_run_again():
    """Bit for bit: the controller forgets its last solution too."""
    session = Session(controlled)
    session.step(20)
    first = session.root.beam.dofs.position.value.copy()
    session.reset()
    session.step(20)
    assert (session.root.beam.dofs.position.value == first).all()
    assert sum(session.root.inverse.step_counts.statuses.values()) == 20


def test_snapshot_and_restore_give_the_same_steps_again():
    """Bit for bit, with a rate limit that needs the last displacement."""
    session = Session(lambda root: controlled(root, maxDispVariation=0.05))
    session.step(10)
    moment = session.snapshot()
    session.step(10)
    first = session.root.beam.dofs.position.value.copy()
    session.restore(moment)
    assert session.time == moment.time
    session.step(10)
    assert (session.root.beam.dofs.position.value == first).all()


def test_a_goal_of_the_wrong_shape_stops_the_run():
    session = Session(lambda root: controlled(root, goal=lambda time: np.zeros((2, 3))))
    with pytest.raises(SceneError, match=r"The goal of /inverse at t = 0.01 must be finite"):
        session.step()


def test_a_cable_that_imposes_displacements_cannot_be_driven():
    with pytest.raises(SceneError, match="needs a CableConstraint with valueType='force'"):
        Session(lambda root: controlled(root, valueType="displacement"))


def test_a_failure_holds_the_last_efforts_pauses_and_names_the_scenes_line():
    """On SOFA nobody stops the simulation then: the cables' own values hold the robot."""

    def lost(time):
        return goal(time) if time < 0.055 else [np.nan, 0.0, 0.0]

    session = Session(lambda root: controlled(root, goal=lost), backend="embedded")
    session.root.animate = True
    session.step(5)
    controller = session.root.inverse
    last = controller.effort.value.copy()
    with pytest.raises(SceneError, match=r"test_controller\.py:\d+: The goal of /inverse at t = 0"):
        session.step()
    assert not session.root.animate.value
    dt = session.dt
    held = [cable.value.value[0] / dt for cable in controller.actuators]
    assert last.max() > 0.0
    np.testing.assert_allclose(held, last, rtol=1e-12)
    session.step()  # nothing of it runs any more
    np.testing.assert_array_equal(controller.effort.value, last)
    session.reset()
    assert [cable.value.value[0] for cable in controller.actuators] == [0.0, 0.0]


def test_constraints_of_others_are_reckoned_with_and_told(caplog):
    """A rope that is pulled by 1 mm moves the tip, too: what the controller foresees is what comes,
    to 1 % of what the rope does, as its force is found with the efforts of the step before."""

    def with_a_rope(root):
        controlled(root, energy=1e-6)
        rope = root.beam.addChild("rope")
        rope.addObject("MechanicalObject", position=[[10.0, 17.0, z] for z in (30.0, 80.0)])
        rope.addObject(
            "CableConstraint",
            name="rope",
            indices=[0, 1],
            pullPoint=[10.0, 17.0, 0.0],
            valueType="displacement",
            value=[1.0],
        )
        rope.addObject("BarycentricMapping")

    session = Session(with_a_rope, backend="embedded")
    session.step(60)
    inverse, rope = session.root.inverse, session.root.beam.rope.rope
    assert "/beam/rope/rope (CableConstraint) act on the robot too" in caplog.text
    rows, others = inverse.rows.row_indices()
    solver = inverse.rows.system.solver
    by_others = solver.W()[np.ix_(rows, others)] @ solver.lambda_force()[others]
    by_rope = np.linalg.norm(by_others[inverse.rows.e_part])
    foreseen = inverse.solution.effector_error
    came = inverse.tip.value[0] - inverse.goal.value[0]
    assert rope.force.value > 0.0 and by_rope > 0.01
    assert np.linalg.norm(foreseen - came) < 0.01 * by_rope


@pytest.mark.soak
def test_the_goal_of_a_point_on_a_rigid_body_is_in_space():
    """The point's state is given by its place in the body, where SOFA's PositionConstraint then
    measures from; the goal is reached none the less, to what the energy term leaves."""

    def create(root):
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        node = root.addChild("body")
        node.addObject("EulerImplicitSolver", rayleighMass=0.1)
        node.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
        pose = [100.0, 50.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[pose])
        node.addObject("UniformMass", vertexMass="0.1 1 [10 0 0,0 10 0,0 0 10]")
        node.addObject("LinearSolverConstraintCorrection")
        motors = [
            node.addObject(
                "PositionConstraint",
                name=f"motor_{axis}",
                indices=[0],
                useDirections=[int(k == axis) for k in range(6)],
                valueType="force",
                value=[0.0],
            )
            for axis in range(3)
        ]
        point = node.addChild("point")
        point.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 20.0]])
        effector = add_effector(point)
        point.addObject("RigidMapping")
        root.addObject(
            InverseController(
                name="inverse",
                root=root,
                actuators=motors,
                effectors=[effector],
                goal=lambda time: [100.0 + 10.0 * time, 50.0, 20.0],
                energy=1e-9,
            )
        )

    session = Session(create)
    session.step(20)
    assert session.root.inverse.tip.value[0] == pytest.approx([102.0, 50.0, 20.0], abs=0.01)
    assert session.root.inverse.error.value[0] < 0.01
