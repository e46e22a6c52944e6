"""Identification of a body of hexahedra, by markers glued to it."""

import json

import pytest

from sofa_softctl import Session

SCENE = """
from sofa_softctl import add_constraint_solver, add_elasticity

UNITS = "mm, kg, s"


def createScene(root, young=300.0):
    root.dt = 0.01
    root.gravity = [0.0, 0.0, -9810.0]
    root.addObject("FreeMotionAnimationLoop")
    add_constraint_solver(root)
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver", rayleighStiffness=0.02)
    body.addObject("SparseLDLSolver")
    body.addObject("RegularGridTopology", n=[6, 2, 2], min=[0, -7, -7], max=[80, 7, 7])
    body.addObject("MechanicalObject", name="dofs")
    body.addObject("UniformMass", totalMass=0.017)
    add_elasticity(body, young_modulus=young, poisson_ratio=0.4)
    body.addObject("FixedProjectiveConstraint", indices=[0, 6, 12, 18])
    body.addObject("LinearSolverConstraintCorrection")
    cable = body.addChild("cable")
    cable.addObject("MechanicalObject", name="dofs", position=[[10, 0, 5], [75, 0, 5]])
    cable.addObject(
        "CableConstraint", name="cable", indices=[0, 1], pullPoint=[0, 0, 5], valueType="force"
    )
    cable.addObject("BarycentricMapping")


def problem():
    from sofa_softctl.identification.fem import Drive, FemProblem, Marker, young_modulus

    return FemProblem(
        name="bar",
        scene=__file__,
        wait=0.4,
        parameters=(young_modulus("young", 200.0, lower=10.0, scene_parameter="young"),),
        drives=(Drive("tension", "/body/cable/cable"),),
        sensors=(Marker("end", at=(79.0, 3.0, 0.0), deviation=0.05),),
    )


PROBLEMS = {"bar": problem}
"""


def test_the_modulus_of_a_bar_is_found_from_a_marker_in_a_hexahedron(tmp_path, softctl):
    """The model is that of the data: exact to the search's tolerance."""
    scene = tmp_path / "bar.py"
    scene.write_text(SCENE)
    session = Session(scene)
    with session.recording(tmp_path / "bar.mcap"):
        session.step(60)
    options = ("--data", tmp_path / "bar.mcap", "--no-budget", "--no-causes", "--json")
    _, out, _ = softctl("identify", f"{scene}:bar", *options)
    (young,) = [p for p in json.loads(out)["parameters"] if p["name"] == "young"]
    assert young["value"] == pytest.approx(300.0, rel=1e-3)
