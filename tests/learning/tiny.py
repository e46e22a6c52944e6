"""A scene that steps in a fraction of a millisecond: a ball on springs, pulled by a cable."""

import numpy as np

from sofa_softctl import add_constraint_solver, parameters_from_argv
from sofa_softctl.learning import Action, Limits, Observation, PolicyController, Task

UNITS = "mm, kg, s"
DURATION = 0.5
BALL, CABLE = "/body/dofs", "/body/cable"


def reach(far=4.0, decisions=10):
    def begin(episode):
        episode.goal["x"] = np.array([far * episode.random.uniform()])

    def miss(episode):
        return float(np.abs(episode.read(f"{BALL}.position")[0, 0] - episode.goal["x"][0]))

    return Task(
        observation=[
            Observation("place", lambda e: e.read(f"{BALL}.position")[0, 0], -10, 10, "length"),
            Observation("velocity", f"{BALL}.velocity", -100.0, 100.0, "mm/s"),
            Observation("goal", lambda e: e.goal["x"], -10.0, 10.0, "length"),
            Observation("pull", lambda e: e.action, 0.0, 40.0, "force"),
        ],
        action=[Action(CABLE, rate=1000.0)],
        reward=lambda episode: -miss(episode),
        begin=begin,
        success=lambda episode: miss(episode) < 0.5,
        limits=Limits(decisions=decisions, hold=2, settle=3),
        parameters={"policy": None},
        baseline=lambda e: {"policy": "", "pull": 10.0 * e.goal["x"][0]},
    )


LEARNING = {"reach": reach}


def policy_for(interface):
    """Pulls as far as the goal asks for, and against velocities: a network without a hidden layer.

    A force of 10 mN for each millimetre of goal, from 0 to 40 mN, less a little of the last one;
    in shares of the bounds.
    """
    from sofa_softctl.learning import Policy

    weights = np.array([[0.0, -0.2, 0.0, 0.0, 5.0, -0.1]])
    return Policy(interface, (weights,), (np.array([-1.0]),), {"made": "by hand"})


@parameters_from_argv
def createScene(root, stiffness=10.0, policy="", goal=2.0, dt=0.01, pull=0.0):
    root.dt = dt
    root.gravity = [0.0, 0.0, 0.0]
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root, maxIterations=100, tolerance=1e-9)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighMass=10.0)
    body.addObject("SparseLDLSolver", template="CompressedRowSparseMatrixMat3x3d")
    body.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    body.addObject("UniformMass", totalMass=0.01)
    body.addObject("RestShapeSpringsForceField", stiffness=stiffness, points=[0])
    body.addObject(
        "CableConstraint",
        name="cable",
        indices=[0],
        pullPoint=[100.0, 0.0, 0.0],
        valueType="force",
        value=[pull * dt],  # SOFA's: times dt
        minForce=0.0,
        maxForce=0.4,
    )
    body.addObject("LinearSolverConstraintCorrection")
    if policy:
        reached = {"x": lambda time: [goal]}
        root.addObject(PolicyController(root=root, policy=policy, task=reach(), goal=reached))
    return root
