"""SurrogateController: planned tensions reach the lines, whatever the plan and the scene are."""

import numpy as np
import pytest

from sofa_softctl.errors import RecordError
from sofa_softctl.record.writer import RecordWriter
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.scene.session import Session

find_backend("embedded")

from sofa_softctl import SurrogateController, controller  # noqa: E402

TENSIONS = np.array([[10.0, 0.0], [20.0, 5.0], [30.0, 0.0]])
SPOTS = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 0.0, 1.0]])


def written(path, tensions=TENSIONS, channel="plan.tension"):
    """A plan of three steps of 0.01."""
    with RecordWriter(path, {}) as file:
        file.add_channel(channel, shape=tensions.shape[1:])
        file.add_channel("plan.spot", shape=(3,))
        for k, (tension, spot) in enumerate(zip(tensions, SPOTS, strict=True)):
            file.write(0.01 * (k + 1), {channel: tension, "plan.spot": spot})
    return path


def scene(plan, lines=2, first_order=False):
    """A block of one tetrahedron with cables, under a plan."""

    def create(root):
        root.dt = 0.01
        root.gravity = [0.0, 0.0, 0.0]
        root.addObject("FreeMotionAnimationLoop")
        root.addObject("GenericConstraintSolver")
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", firstOrder=first_order)
        body.addObject("SparseLDLSolver")
        corners = [[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10]]
        body.addObject("MeshTopology", position=corners, tetrahedra=[[0, 1, 2, 3]])
        body.addObject("MechanicalObject", name="dofs")
        body.addObject("UniformMass", totalMass=0.1)
        body.addObject("TetrahedronFEMForceField", youngModulus=100.0, poissonRatio=0.3)
        body.addObject("FixedProjectiveConstraint", indices=[0, 1, 2])
        body.addObject("LinearSolverConstraintCorrection")
        cables = [
            body.addObject(
                "CableConstraint",
                name=f"cable_{k}",
                indices=[3],
                pullPoint=[0.0, 20.0 * k, 0.0],
                valueType="force",
                value=[0.0],
            )
            for k in range(lines)
        ]
        root.addObject(SurrogateController(root=root, lines=cables, plan=plan))

    return Session(create)


@pytest.mark.parametrize(("first_order", "factor"), [(False, 0.01), (True, 1.0)])
def test_each_step_pulls_with_its_own_tension(tmp_path, first_order, factor):
    """A cable takes an impulse in second order, tension times dt, and the tension in first order;
    after the plan the last tensions stay."""
    session = scene(written(tmp_path / "plan.mcap"), first_order=first_order)
    for tension in (*TENSIONS, TENSIONS[-1]):
        session.step()
        told = session.root.surrogate.tension.value
        assert told == pytest.approx(tension)
        forces = [session.root.body[f"cable_{k}"].force.value for k in range(2)]
        assert forces == pytest.approx(factor * tension)


def test_it_tells_where_the_point_is_to_be(tmp_path):
    session = scene(written(tmp_path / "plan.mcap"))
    session.step(2)
    assert session.root.surrogate.planned.value[0] == pytest.approx(SPOTS[1])
    assert session.root.surrogate.spot(0.015) == pytest.approx([1.0, 0.0, 1.0])


def test_what_is_no_plan_or_one_for_other_lines_is_refused(tmp_path):
    with pytest.raises(RecordError, match="this recording is no plan"):
        scene(written(tmp_path / "run.mcap", channel="inverse.effort"))
    with pytest.raises(RecordError, match="the plan is for 2 lines, not 1"):
        scene(written(tmp_path / "plan.mcap"), lines=1)


def test_it_is_a_controller_of_the_package():
    assert controller("surrogate") is SurrogateController
