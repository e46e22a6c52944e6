"""Steps with contacts that stick, slide or come: those of the scene, with exact derivatives."""

import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl.runtime.derivatives import parameters as kinds
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative
from sofa_softctl.runtime.derivatives.trajectory import TrajectoryModel

STEPS = 5
PULL = np.linspace(0.5, 1.0, STEPS)[:, None] * 400.0
"""Tension of a cable [mN]."""
OBSTACLES = {
    "floor": ([[-60, -0.3, -60], [60, -0.3, 300], [300, -1.5, -60]], "triangles", [[0, 1, 2]]),
    "rod": ([[-30, -0.3, 60], [50, -1.0, 85]], "edges", [[0, 1]]),
    "pin": ([[7.0, -0.3, 70.0]], "position", None),
}
"""Under a beam of 20 by 20 by 90 mm, which weight presses on them: a face that its nodes touch, an
edge across its own ones, and a point below one of its faces."""


@pytest.fixture
def build(Sofa, beam):
    """Makes a beam above an obstacle, with a cable, and the derivative of its step."""

    def make(obstacle="floor", mu=0.0, mapping="IdentityMapping"):
        root = Sofa.Core.Node("root")
        node = beam(root, (2, 2, 5), cables=1, value_type="force")
        node.ode.rayleighMass.value = 20.0  # enough to matter within a few steps
        root.constraints.tolerance.value, root.constraints.maxIterations.value = 1e-14, 20_000
        for kind in ("CollisionPipeline", "BruteForceBroadPhase", "BVHNarrowPhase"):
            root.addObject(kind)
        root.addObject("MinProximityIntersection", alarmDistance=2.0, contactDistance=0.5)
        root.addObject(
            "CollisionResponse",
            response="FrictionContactConstraint",
            responseParams=f"mu={mu}",
        )
        skin = node.addChild("skin")
        tetrahedra = node.mesh.tetrahedra.value
        skin.addObject(
            "MeshTopology",
            position=node.mesh.position.value.tolist(),
            triangles=outside(node.mesh.position.value, tetrahedra),
        )
        skin.addObject("MechanicalObject", name="dofs")
        for kind in ("Triangle", "Line", "Point"):
            skin.addObject(f"{kind}CollisionModel")
        skin.addObject(mapping)
        place, name, elements = OBSTACLES[obstacle]
        below = root.addChild("below")
        below.addObject(
            "MeshTopology", position=place, **({} if elements is None else {name: elements})
        )
        below.addObject("MechanicalObject", name="dofs")
        for kind in {"floor": ("Triangle",), "rod": ("Line",), "pin": ("Point",)}[obstacle]:
            below.addObject(f"{kind}CollisionModel", moving=False, simulated=False)
        Sofa.Simulation.init(root)
        step = ImplicitStep(root, [node.cable_0.cable])
        third = len(node.fem.elements) // 3
        parameters = [
            kinds.Moduli(node.fem, np.arange(third)),
            kinds.PoissonRatio(node.fem),
            kinds.RayleighStiffness(node.ode),
            kinds.TotalMass(node.mass),
        ]
        return root, step, StepDerivative(step, parameters)

    return make


def outside(points, tetrahedra):
    """Triangles of one tetrahedron alone, normals outwards."""
    found = {}
    for tetrahedron in tetrahedra.tolist():
        for inner, *face in (tetrahedron[k:] + tetrahedron[:k] for k in range(4)):
            a, b, c, d = points[[*face, inner]]
            turned = np.dot(np.cross(b - a, c - a), d - a) > 0.0
            found.setdefault(tuple(sorted(face)), []).append(face[::-1] if turned else face)
    return [faces[0] for faces in found.values() if len(faces) == 1]


every_obstacle = pytest.mark.parametrize("obstacle", OBSTACLES)
every_friction = pytest.mark.parametrize("mu", [0.0, 0.05, 0.8])


@every_friction
@every_obstacle
def test_the_step_is_that_of_the_scene(Sofa, build, motion, obstacle, mu):
    """The same equations in another order, contacts to what Gauss-Seidel leaves: 1e-8 of the
    motion; and they push in each step."""
    _, step, _ = build(obstacle, mu)
    taken, x, v = motion.simulate(step, PULL)
    assert all((one.lam[1:] > 0.0).any() for one in taken)
    other, again, _ = build(obstacle, mu)
    for (u,) in PULL:
        other.beam.cable_0.cable.value.value = [u * again.dt]
        Sofa.Simulation.animate(other, other.dt.value)
    moved = np.abs(x - step.x0).max()
    assert other.beam.dofs.position.value == pytest.approx(x, abs=1e-8 * moved)
    assert other.beam.dofs.velocity.value == pytest.approx(v, abs=1e-8 * np.abs(v).max())


@pytest.mark.soak(keep=1)
@every_friction
@every_obstacle
def test_derivatives_are_those_of_differences(build, motion, obstacle, mu):
    """Forward and backward, by parameters, by the tension and by the start: 1e-6, as without
    contacts; which of them push, and with which elements, stays in these motions."""
    _, step, derivative = build(obstacle, mu)
    weight = motion.weights(step)
    taken, _, _ = motion.simulate(step, PULL)
    found, by_drive, by_start = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, PULL, weight), rel=1e-6)
    tangent = motion.forward(derivative, taken)
    ahead = np.tensordot(tangent.x, weight.x, 2) + np.tensordot(tangent.v, weight.v, 2)
    assert ahead == pytest.approx(found, rel=1e-9)
    for number in (0, STEPS - 1):
        expected = motion.by_drive(step, PULL, weight, number, 0)
        assert by_drive[number, 0] == pytest.approx(expected, rel=1e-6)
    direction = np.random.default_rng(5).normal(size=step.x0.shape)
    direction[step.system.fixed] = 0.0

    def ended(size):
        start = step.x0 + 1e-2 * (size - 1.0) * direction, step.v0
        _, x, v = motion.simulate(step, PULL, start)
        return motion.weighed(weight, x - step.x0, v)

    expected = motion.slope(ended, 1.0) / 1e-2
    assert np.vdot(by_start.x, direction) == pytest.approx(expected, rel=1e-6)


def test_a_skin_that_the_mesh_carries_touches_as_well(build, motion):
    """Points within elements: contacts act on several nodes, by constant weights."""
    _, step, derivative = build("pin", mapping="BarycentricMapping")
    weight = motion.weights(step)
    taken, _, _ = motion.simulate(step, PULL)
    assert (taken[-1].lam[1:] > 0.0).any()
    found, _, _ = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, PULL, weight), rel=1e-6)


@pytest.mark.parametrize("mu", [0.0, 0.8])
@every_obstacle
def test_rest_on_an_obstacle_has_derivatives(build, motion, obstacle, mu):
    """It settles on the obstacle in ever longer steps, and these have contacts too: 1e-6."""
    _, step, derivative = build(obstacle, mu)
    tip = sparse.csr_array(np.eye(step.size)[-1:])
    model = TrajectoryModel(derivative, StepOutputs(step, tip, []))
    found = model.run(np.full((2, 1), 100.0), sensitivities=True)
    assert (found.settling[-1].lam[1:] > 0.0).any()
    modulus = derivative.parameters[0]
    value = modulus.get()

    def rest(changed):
        modulus.set(changed)
        return model.run(np.full((2, 1), 100.0)).outputs[0]

    expected = motion.slope(rest, value, 1e-4)  # with more, a contact would begin to slide
    modulus.set(value)
    assert np.abs(value * expected).max() > 1e-3  # mm
    assert found.by_parameters[0, :, 0] == pytest.approx(expected, rel=1e-6, abs=1e-11)
