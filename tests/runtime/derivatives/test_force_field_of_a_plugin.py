"""A force field that a plugin brings has derivatives once it gives its term of the step."""

import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl import hookimpl
from sofa_softctl.identification.fem import CableLength, Drive, FemParameter, FemProblem, Marker
from sofa_softctl.identification.model.recording import Recording
from sofa_softctl.plugins import Plugins
from sofa_softctl.runtime.behavior.mechanics import ForceField
from sofa_softctl.runtime.behavior.step_term import StepTerm
from sofa_softctl.runtime.core import COMPONENTS
from sofa_softctl.runtime.core.data.types import Real
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.parameters import Moduli
from sofa_softctl.runtime.derivatives.step_derivative import Cotangent, StepDerivative, Tangent
from sofa_softctl.runtime.derivatives.trajectory import TrajectoryModel

STIFFNESS = 0.05
"""Of the springs [mN/mm^3]: at 3 mm they push with 1.4 mN, 7 % of a node's weight."""


class CubicSprings(ForceField):
    """f = -k |d|^2 d at every node, d = x - rest; K = k |d|^2 leaves a part of -df/dx out."""

    stiffness = Real(STIFFNESS, "k.", unit="force/length^3")

    def stretch(self):
        data = self.state._data
        return data["position"].get() - data["rest_position"].get()

    def add_force(self, force):
        self.d = self.stretch()
        force -= self.stiffness.get() * (self.d**2).sum(axis=1, keepdims=True) * self.d

    def add_product(self, out, v, factor):
        out += factor * self.stiffness.get() * (self.d**2).sum(axis=1, keepdims=True) * v

    def pairs(self):
        nodes = np.arange(self.state.count)
        return nodes, nodes

    def add_matrix(self, values, slots, factor):
        k = factor * self.stiffness.get() * (self.d**2).sum(axis=1)
        values[slots] += k[:, None, None] * np.eye(3)

    def check_differentiable(self):
        pass

    def step_term(self):
        return CubicTerm(self)


class CubicTerm(StepTerm):
    """r = -k |d|^2 (h d + h (h + beta) w), by nodes; dr/dx = B is not symmetric."""

    stiffness_shape = (1,)

    def __init__(self, field):
        self.field = field

    def at(self, x, w, h, beta):
        d = x - self.field.state.rest_position.get()
        square, z = (d**2).sum(axis=1), h * d + h * (h + beta) * w
        self.by_k = -square[:, None] * z
        self.B = -2.0 * z[:, :, None] * d[:, None, :] - h * square[:, None, None] * np.eye(3)

    def add_by_positions(self, dx, out):
        out += self.field.stiffness.get() * np.einsum("nij,pnj->pni", self.B, dx)

    def add_transposed(self, y, out, by_stiffness):
        out += self.field.stiffness.get() * np.einsum("nij,ni->nj", self.B, y)
        by_stiffness[0] += np.vdot(self.by_k, y)

    def add_by_stiffness(self, change, out):
        out += change[0] * self.by_k


class SpringStiffness:
    """k as a parameter of the step."""

    def __init__(self, field):
        self.field = field

    def get(self):
        return self.field.stiffness.get()

    def set(self, value):
        self.field.stiffness.set(value)

    def allowed(self, value):
        return value >= 0.0

    def residual(self, step):
        return step.by_stiffness(self.field, np.ones(1))

    def collect(self, sums):
        return float(sums.stiffness[id(self.field)][0])


class Plugin:
    @hookimpl
    def softctl_register_components(self, register):
        register(CubicSprings)


@pytest.fixture
def scene(beam):
    """createScene of a beam on two cables with the plugin's springs."""
    with COMPONENTS.kept():
        Plugins().add(Plugin(), "springs")
        yield create_scene(beam)


def create_scene(beam):

    def createScene(root):
        beam(root, (2, 2, 5), cables=2).addObject("CubicSprings", name="springs")

    return createScene


@pytest.fixture
def derivative(Sofa, scene):
    """Of its step, by the springs' stiffness and a modulus."""
    root = Sofa.Core.Node("root")
    scene(root)
    Sofa.Simulation.init(root)
    node = root.beam
    step = ImplicitStep(root, [node.cable_0.cable, node.cable_1.cable])
    region = Moduli(node.fem, np.arange(len(node.fem.elements) // 2))
    return StepDerivative(step, [SpringStiffness(node.springs), region])


def slope(function, value):
    """Derivative by central differences of fourth order, exact to about 1e-10 of the value."""
    h = 1e-3 * value
    ends = [function(value + k * h) for k in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


def by_parameters(derivative, number):
    """Derivatives of a number that simulations end with, by every parameter, by differences."""
    found = []
    for parameter in derivative.parameters:
        value = parameter.get()

        def ended(changed, parameter=parameter):
            parameter.set(changed)
            return number()

        found.append(slope(ended, value))
        parameter.set(value)
    return np.array(found)


def moving(step):
    """Positions 3 mm from rest and velocities of 30 mm/s, in random directions."""
    x, v = step.x0.copy(), np.zeros_like(step.x0)
    rng = np.random.default_rng(7)
    change, speed = rng.normal(size=(2, step.size, 3)) * [[[3.0]], [[30.0]]]
    step.system.project(change)
    step.system.project(speed)
    return x + change, v + speed


def test_the_derivative_of_its_step_is_that_of_differences(derivative):
    """By the state at the start, along a random direction, and by parameters, backward: 1e-7."""
    step = derivative.step
    x, v = moving(step)
    rng = np.random.default_rng(2)
    direction = Tangent(*rng.normal(size=(2, step.size, 3)))
    for part in direction:
        step.system.project(part)
    weight = Cotangent(*rng.normal(size=(2, step.size, 3)) * [[[1.0]], [[0.02]]])

    def ended(x, v):
        step.evaluate(x, step.dt)
        w = step.advance(v, np.array([300.0, 100.0])).w
        return np.vdot(weight.x, x + step.dt * w - step.x0) + np.vdot(weight.v, w)

    step.evaluate(x, step.dt)
    derivative.set_step(step.advance(v, np.array([300.0, 100.0])))
    sums = derivative.sums()
    before, _ = derivative.backward(weight, sums)
    along = np.vdot(before.x, direction.x) + np.vdot(before.v, direction.v)
    found = derivative.collect(sums)
    expected = slope(lambda s: ended(x + (s - 1.0) * direction.x, v + (s - 1.0) * direction.v), 1.0)
    assert along == pytest.approx(expected, rel=1e-7)
    assert found == pytest.approx(by_parameters(derivative, lambda: ended(x, v)), rel=1e-7)


def test_forward_and_adjoint_agree(derivative):
    """The same sums in another order: 1e-10."""
    step = derivative.step
    x, v = moving(step)
    rng = np.random.default_rng(4)
    tangent = Tangent(*rng.normal(size=(2, 2, step.size, 3)))
    for part in tangent:
        part[:, step.system.fixed] = 0.0
    weight = Cotangent(*rng.normal(size=(2, step.size, 3)))
    step.evaluate(x, step.dt)
    derivative.set_step(step.advance(v, np.array([300.0, 100.0])))
    after = derivative.forward(tangent)
    sums = derivative.sums()
    before, _ = derivative.backward(weight, sums)
    forward = np.tensordot(after.x, weight.x, 2) + np.tensordot(after.v, weight.v, 2)
    backward = np.tensordot(tangent.x, before.x, 2) + np.tensordot(tangent.v, before.v, 2)
    assert forward == pytest.approx(backward + derivative.collect(sums), rel=1e-10)


def test_the_gradient_of_a_trajectory_is_that_of_differences(derivative):
    """From rest under the first tensions on, backward and forward in time: 1e-6, as the robot
    comes to rest within 1e-11 of its size."""
    step = derivative.step
    tip = sparse.csr_array(([1.0], ([0], [step.size - 1])), shape=(1, step.size))
    model = TrajectoryModel(derivative, StepOutputs(step, tip, step.drives.constraints))
    drive = np.linspace(0.2, 1.0, 5)[:, None] * [900.0, 300.0]
    weight = np.random.default_rng(6).normal(size=(5, 5))
    expected = by_parameters(derivative, lambda: np.vdot(weight, model.run(drive).outputs))
    motion = model.run(drive, sensitivities=True)
    found = model.pull_back(motion, weight).by_parameters
    assert found == pytest.approx(expected, rel=1e-6)
    assert np.tensordot(weight, motion.by_parameters, 2) == pytest.approx(expected, rel=1e-6)


def test_its_stiffness_is_a_parameter_of_identification(scene):
    """Sensitivities of all outputs against differences: 1e-6 of the largest."""
    stiffness = FemParameter(
        "k", STIFFNESS, of=lambda model: SpringStiffness(model.root.beam.springs)
    )
    problem = FemProblem(
        name="springs",
        scene=scene,
        parameters=(stiffness,),
        drives=(Drive("left", "/beam/cable_0/cable"),),
        sensors=(
            Marker("end", at=(10.0, 10.0, 90.0)),
            CableLength("length", "/beam/cable_0/cable"),
        ),
    )
    times = np.linspace(0.0, 0.05, 6)
    tension = np.linspace(200.0, 700.0, 6)[:, None]
    run = problem.experiment(Recording("run", times, tension, np.full((6, 4), np.nan)))
    _, found = run.sensitivities(np.array([STIFFNESS]))
    expected = slope(lambda k: run.outputs(np.array([k])), STIFFNESS)
    assert np.abs(expected).max() > 0.1  # mm per mN/mm^3
    assert found[:, :, 0] == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
