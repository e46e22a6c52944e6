"""Chambers in bodies of cells, and controllers that do not listen: what is said at the start."""

import numpy as np
import pytest

from sofa_softctl.scene.plausibility.check import implausible

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
SKIN = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
SKIN += [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]


@pytest.fixture
def said(root, Sofa):
    """Gives what is said of the scene."""

    def start():
        Sofa.Simulation.init(root)
        return "\n".join(warning.text for warning in implausible(root))

    return start


@pytest.mark.parametrize(("size", "shift", "named"), [(0.5, 0.0, False), (1.0, 0.5, True)])
def test_a_chamber_beside_its_cells_is_named(root, said, size, shift, named):
    """A grid does not follow the walls of a chamber that it holds, but it has to hold it."""
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    body = root.addChild("body")
    body.addObject("EulerImplicitSolver")
    body.addObject("SparseLDLSolver")
    body.addObject("RegularGridTopology", n=[4, 4, 4], min=[-1, -1, -1], max=[1, 1, 1])
    body.addObject("MechanicalObject")
    body.addObject("UniformMass", totalMass=1.0)
    body.addObject("HexahedronFEMForceField", youngModulus=1000.0)
    body.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])
    body.addObject("LinearSolverConstraintCorrection")
    chamber = body.addChild("chamber")
    chamber.addObject("MeshTopology", position=size * CORNERS + shift, triangles=SKIN)
    chamber.addObject("MechanicalObject")
    chamber.addObject("SurfacePressureConstraint", value=[0.0])
    chamber.addObject("BarycentricMapping")
    assert ("the pressure acts within the material, or in the void" in said()) == named


@pytest.mark.parametrize("listening", [False, True])
def test_a_controller_that_does_not_listen_is_named(root, Sofa, said, listening):
    class Mine(Sofa.Core.Controller):
        def onAnimateBeginEvent(self, event):
            """Nothing."""

    root.addObject(Mine(name="mine", listening=listening))
    expected = "it has listening=False, so no event calls its 'onAnimateBeginEvent'"
    assert (expected in said()) == (not listening)
