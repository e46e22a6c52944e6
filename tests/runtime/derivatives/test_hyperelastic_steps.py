"""Steps of hyperelastic bodies: derivatives by positions and by parameters of their materials."""

import numpy as np
import pytest

from sofa_softctl.runtime.derivatives import parameters as kinds
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative

MATERIALS = {
    "StVenantKirchhoff": [150.0, 500.0],
    "NeoHookean": [150.0, 500.0],
    "StableNeoHookean": [150.0, 500.0],
    "MooneyRivlin": [45.0, 30.0, 600.0],
    "ArrudaBoyce": [140.0, 600.0],
}
every_material = pytest.mark.parametrize("material", MATERIALS)
DRIVE = np.linspace(0.3, 1.0, 4)[:, None] * [8000.0, 800.0]
"""Tensions [mN] that bend and press the beam by a quarter of its width within four steps."""


@pytest.fixture
def build(Sofa, beam):
    """Makes a hyperelastic beam on two cables, its step, and every parameter in two regions."""

    def make(material):
        root = Sofa.Core.Node("root")
        node = beam(root, (2, 2, 5), cables=2)
        node.ode.rayleighStiffness.value = 0.005
        node.removeObject(node.fem)
        node.addObject(
            "TetrahedronHyperelasticityFEMForceField",
            name="fem",
            materialName=material,
            ParameterSet=MATERIALS[material],
        )
        Sofa.Simulation.init(root)
        step = ImplicitStep(root, [node.cable_0.cable, node.cable_1.cable])
        regions = np.split(np.arange(len(node.fem.elements)), [8])
        parameters = [
            *(
                kinds.MaterialParameter(node.fem, number, region)
                for number in range(len(MATERIALS[material]))
                for region in regions
            ),
            kinds.RayleighStiffness(node.ode),
            kinds.TotalMass(node.mass),
        ]
        return node, step, StepDerivative(step, parameters)

    return make


@every_material
def test_gradients_are_those_of_differences_in_every_material(build, motion, material):
    """1e-6: a gradient that cancels to 1e-4 of its parts still has nine digits."""
    _, step, derivative = build(material)
    weight = motion.weights(step)
    taken, x, _ = motion.simulate(step, DRIVE)
    assert np.abs(x - step.x0).max() > 5.0
    found, _, _ = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, DRIVE, weight), rel=1e-6)


@every_material
def test_forward_and_adjoint_agree(build, motion, material):
    """The same sums in another order: 1e-10."""
    _, step, derivative = build(material)
    weight = motion.weights(step)
    taken, _, _ = motion.simulate(step, DRIVE)
    found, _, _ = motion.backward(derivative, taken, weight)
    tangent = motion.forward(derivative, taken)
    sums = [motion.weighed(weight, x, v) for x, v in zip(tangent.x, tangent.v, strict=True)]
    assert found == pytest.approx(sums, rel=1e-10)


@every_material
def test_the_modulus_at_rest_scales_all_parameters(build, motion, material):
    """Its derivative is that of differences; 1e-6 as above. Twice the modulus, twice each one."""
    node, step, _ = build(material)
    modulus = kinds.RestModulus(node.fem, np.arange(8))
    derivative, weight = StepDerivative(step, [modulus]), motion.weights(step)
    taken, _, _ = motion.simulate(step, DRIVE)
    found, _, _ = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, DRIVE, weight), rel=1e-6)
    modulus.set(2.0 * modulus.get())
    assert node.fem.parameters[:8] == pytest.approx(2.0 * np.tile(MATERIALS[material], (8, 1)))
    assert (node.fem.parameters[8:] == MATERIALS[material]).all()
    if material not in ("MooneyRivlin", "ArrudaBoyce"):  # E = mu (3 lambda + 2 mu) / (lambda + mu)
        assert modulus.get() == pytest.approx(2.0 * 150.0 * 1800.0 / 650.0)


@every_material
def test_poissons_ratio_at_rest_keeps_youngs_modulus(build, motion, material):
    """Its derivative is that of differences; 1e-6 as above."""
    node, step, _ = build(material)
    ratio, modulus = kinds.RestPoissonRatio(node.fem), kinds.RestModulus(node.fem, np.arange(8))
    derivative, weight = StepDerivative(step, [ratio]), motion.weights(step)
    taken, _, _ = motion.simulate(step, DRIVE)
    gradient, _, _ = motion.backward(derivative, taken, weight)
    assert gradient == pytest.approx(motion.by_parameters(derivative, DRIVE, weight), rel=1e-6)
    young = modulus.get()
    ratio.set(0.3)
    assert (ratio.get(), modulus.get()) == pytest.approx((0.3, young))


def test_the_third_derivative_of_the_energy_counts(build, motion):
    """Without it, the change of the step's matrix, a gradient is wrong by more than 1e-3."""
    _, step, derivative = build("NeoHookean")
    weight = motion.weights(step)
    taken, _, _ = motion.simulate(step, DRIVE)
    exact, _, _ = motion.backward(derivative, taken, weight)
    ((_, term),) = derivative._terms.values()  # noqa: SLF001
    whole = term.at
    term.at = lambda x, w, h, beta: whole(x, np.zeros_like(w), h, beta)
    wrong, _, _ = motion.backward(derivative, taken, weight)
    assert np.abs(wrong / exact - 1.0).max() > 1e-3
