"""Steps of bodies that do not lock: derivatives by positions and by parameters."""

import numpy as np
import pytest

from sofa_softctl.runtime.derivatives import parameters as kinds
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split

COUNTS = (2, 3, 4)
"""Nodes of the beam along each axis."""
DRIVE = np.linspace(0.3, 1.0, 3)[:, None] * [8000.0, 800.0]
"""Tensions [mN] that bend and press the beam by a tenth of its width within three steps."""
PARAMETERS = {"Corotational": [150.0, 500.0], "MooneyRivlin": [45.0, 30.0, 600.0]}
CASES = [
    ("tetrahedra", "Corotational"),
    ("tetrahedra", "MooneyRivlin"),
    ("quadratic", "Corotational"),
    ("quadratic", "MooneyRivlin"),
    ("hexahedra", "Corotational"),
    ("hexahedra", "MooneyRivlin"),
]
every_case = pytest.mark.parametrize(("element", "material"), CASES)


def hexahedra_of(counts):
    """Cells of the grid of nodes that `beam` has, in SOFA's order of corners."""
    nx, ny, nz = counts
    x, y, z = np.meshgrid(*(np.arange(count - 1) for count in counts), indexing="ij")
    corner = ((x * ny + y) * nz + z).ravel()
    face = np.array([0, ny * nz, ny * nz + nz, nz])
    return corner[:, None] + np.concatenate([face, face + 1])


@pytest.fixture
def build(Sofa, beam):
    """Makes a beam on two cables of some elements, its step, and parameters in two regions."""

    def make(element, material):
        root = Sofa.Core.Node("root")
        node = beam(root, COUNTS, cables=2)
        node.ode.rayleighStiffness.value = 0.005
        node.removeObject(node.fem)
        positions = node.mesh.position.array().copy()
        if element == "quadratic":
            mesh = split(Mesh(positions, tetrahedra=node.mesh.tetrahedra.array().copy()))
            node.mesh.position.value, node.mesh.tetrahedra.value = mesh.positions, mesh.tetrahedra
            node.clamp.indices.value = np.flatnonzero(mesh.positions[:, 2] == 0.0)
        elif element == "hexahedra":
            node.removeObject(node.mesh)
            cells = hexahedra_of(COUNTS)
            node.addObject(
                "HexahedronSetTopologyContainer", name="mesh", position=positions, hexahedra=cells
            )
            node.dofs.position.value = positions
        node.addObject(
            "AssumedStrainFEMForceField",
            name="fem",
            materialName=material,
            ParameterSet=PARAMETERS[material],
            quadratic=element == "quadratic",
        )
        Sofa.Simulation.init(root)
        step = ImplicitStep(root, [node.cable_0.cable, node.cable_1.cable])
        regions = np.split(np.arange(len(node.fem.elements)), [4])
        parameters = [
            *(
                kinds.MaterialParameter(node.fem, number, region)
                for number in range(len(PARAMETERS[material]))
                for region in regions
            ),
            kinds.RayleighStiffness(node.ode),
            kinds.TotalMass(node.mass),
        ]
        return node, step, StepDerivative(step, parameters)

    return make


@every_case
def test_gradients_are_those_of_differences(build, motion, element, material):
    """1e-5: a gradient that cancels to 1e-5 of its parts still has ten digits."""
    _, step, derivative = build(element, material)
    weight = motion.weights(step)
    taken, x, _ = motion.simulate(step, DRIVE)
    assert np.abs(x - step.x0).max() > 2.0
    gradient, _, _ = motion.backward(derivative, taken, weight)
    assert gradient == pytest.approx(motion.by_parameters(derivative, DRIVE, weight), rel=1e-5)


@every_case
def test_forward_and_adjoint_agree(build, motion, element, material):
    """The same sums in another order: 1e-10."""
    _, step, derivative = build(element, material)
    weight = motion.weights(step)
    taken, _, _ = motion.simulate(step, DRIVE)
    gradient, _, _ = motion.backward(derivative, taken, weight)
    tangent = motion.forward(derivative, taken)
    sums = [motion.weighed(weight, x, v) for x, v in zip(tangent.x, tangent.v, strict=True)]
    assert gradient == pytest.approx(sums, rel=1e-10)
