"""The example plugin, loaded as a user loads it."""

import tomllib
from pathlib import Path

import pytest

from sofa_softctl.plugins import Plugins
from sofa_softctl.scene.backend import find_backend

FOLDER = Path(__file__).parents[2] / "plugins" / "gentle_pull"


def test_the_plugin_pulls_a_cable_with_the_force_that_it_was_asked_for():
    """Half way up the ramp half the force: the cable's multiplier is dt times it, to rounding."""
    Sofa = find_backend("embedded").Sofa
    plugins = Plugins()
    plugins.add_file(FOLDER / "gentle_pull.py")
    GentlePull = plugins.controllers["gentle_pull"].load()

    root = Sofa.Core.Node("root")
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    ball = root.addChild("ball")
    ball.addObject("EulerImplicitSolver")
    ball.addObject("SparseLDLSolver")
    ball.addObject("MechanicalObject", name="dofs", position=[[0.0, 0.0, 0.0]])
    ball.addObject("UniformMass", totalMass=1.0)
    ball.addObject("LinearSolverConstraintCorrection")
    cable = ball.addObject(
        "CableConstraint", pullPoint=[10.0, 0.0, 0.0], valueType="force", value=[0.0]
    )
    root.addObject(GentlePull(name="pull", root=root, cable=cable, force=2.0, ramp=0.2))
    Sofa.Simulation.init(root)
    for _ in range(10):
        Sofa.Simulation.animate(root, root.dt.value)
    assert cable.force.value == pytest.approx(0.01 * 1.0, rel=1e-12)
    assert ball.dofs.position.value[0, 0] > 0.0


def test_the_package_names_its_entry_point():
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["sofa_softctl"] == {"gentle_pull": "gentle_pull"}
