"""Steps that pressures and volumes drive: as the scene takes them, with exact derivatives."""

import numpy as np
import pytest
import scipy.sparse as sparse

from sofa_softctl.runtime.derivatives import parameters as kinds
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.outputs import StepOutputs
from sofa_softctl.runtime.derivatives.step_derivative import StepDerivative
from sofa_softctl.scene.control.line_stiffness import add_line_stiffness

STEPS = 4
RISE = np.linspace(0.3, 1.0, STEPS)[:, None]
FULL = {"pressure": 60.0, "volumeGrowth": 700.0}
"""[kPa], or [mm^3]; of a chamber of 2880 mm^3 in a beam of 400 kPa, which bends by 1 to 3 mm."""
LOW, HIGH = np.array([4.0, 14.0, 15.0]), np.array([16.0, 18.0, 75.0])
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
"""Of a box, corners by x, y and z; normals point out."""


def surface(kind):
    """Corners (8, 3), a little aside so that no face is flat, and the faces of a kind."""
    corners = LOW + (HIGH - LOW) * [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    corners += np.random.default_rng(0).uniform(-0.5, 0.5, corners.shape)
    triangles = [half for a, b, c, d in QUADS for half in ([a, b, c], [a, c, d])]
    if kind == "open":
        triangles = triangles[:-3]
    return corners, {"quads": QUADS} if kind == "quads" else {"triangles": triangles}


@pytest.fixture
def build(Sofa, beam):
    """Makes a beam with a chamber, maybe a cable before it, and the derivative of its step."""

    def make(value_type="pressure", kind="closed", cables=0, **values):
        root = Sofa.Core.Node("root")
        node = beam(root, (3, 3, 5), cables=cables, loop="FreeMotionAnimationLoop")
        node.ode.rayleighMass.value = 20.0  # enough to matter within a few steps
        corners, faces = surface(kind)
        chamber = node.addChild("chamber")
        chamber.addObject("MechanicalObject", name="dofs", position=corners)
        chamber.addObject(
            "SurfacePressureConstraint", name="pressure", valueType=value_type, **faces, **values
        )
        chamber.addObject("BarycentricMapping")
        Sofa.Simulation.init(root)
        drives = [*(node.getChild(f"cable_{i}").cable for i in range(cables)), chamber.pressure]
        step = ImplicitStep(root, drives, [False] * cables + [value_type != "pressure"])
        third = len(node.fem.elements) // 3
        parameters = [
            kinds.Moduli(node.fem, np.arange(third)),
            kinds.PoissonRatio(node.fem),
            kinds.RayleighMass(node.ode),
            kinds.RayleighStiffness(node.ode),
            kinds.TotalMass(node.mass),
        ]
        return root, step, StepDerivative(step, parameters)

    return make


every_type = pytest.mark.parametrize("value_type", FULL)
every_kind = pytest.mark.parametrize("kind", ["closed", "quads", "open"])


@every_type
@every_kind
def test_the_step_is_that_of_the_scene(Sofa, build, motion, value_type, kind):
    """The same equations in another order: 1e-8 of the motion; an imposed volume to what the
    scene's Gauss-Seidel leaves, 1e-10 of a row."""
    if kind == "open" and value_type != "pressure":
        pytest.skip("an open surface holds no volume")
    _, step, _ = build(value_type, kind)
    _, x, v = motion.simulate(step, RISE * FULL[value_type])
    other, again, _ = build(value_type, kind)
    node = other.beam
    for (u,) in RISE * FULL[value_type]:
        node.chamber.pressure.value.value = [u * (again.dt if value_type == "pressure" else 1.0)]
        Sofa.Simulation.animate(other, other.dt.value)
    moved = np.abs(x - step.x0).max()
    assert moved > 1.0
    assert node.dofs.position.value == pytest.approx(x, abs=1e-8 * moved)
    assert node.dofs.velocity.value == pytest.approx(v, abs=1e-8 * np.abs(v).max())


@every_type
@every_kind
def test_gradients_are_those_of_differences(build, motion, value_type, kind):
    """By parameters, and by what is imposed, first and later: 1e-6, as with cables. Areas turn and
    grow with the surface; rows of quads and of open surfaces are no gradients of a volume."""
    _, step, derivative = build(value_type, kind)
    drive, weight = RISE * FULL[value_type], motion.weights(step)
    taken, _, _ = motion.simulate(step, drive)
    found, by_drive, _ = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, drive, weight), rel=1e-6)
    for number in (0, 2):
        expected = motion.by_drive(step, drive, weight, number, 0)
        assert by_drive[number, 0] == pytest.approx(expected, rel=1e-6)


@every_type
@every_kind
def test_forward_and_adjoint_agree(build, motion, value_type, kind):
    """By parameters and by what is imposed; the same sums in another order: 1e-9."""
    _, step, derivative = build(value_type, kind)
    drive, weight = RISE * FULL[value_type], motion.weights(step)
    taken, _, _ = motion.simulate(step, drive)
    found, by_drive, _ = motion.backward(derivative, taken, weight)
    direction = np.random.default_rng(1).normal(size=(len(found), *drive.shape))
    for change, expected in (
        (None, found),
        (direction, found + np.tensordot(direction, by_drive, 2)),
    ):
        tangent = motion.forward(derivative, taken, change)
        sums = [motion.weighed(weight, x, v) for x, v in zip(tangent.x, tangent.v, strict=True)]
        assert sums == pytest.approx(expected, rel=1e-9)


def test_cables_and_cavities_drive_together(build, motion):
    """A volume that is imposed beside two tensions: each has its own derivative."""
    _, step, derivative = build("volumeGrowth", cables=2)
    drive, weight = RISE * [900.0, 300.0, 700.0], motion.weights(step)
    taken, _, _ = motion.simulate(step, drive)
    found, by_drive, _ = motion.backward(derivative, taken, weight)
    assert found == pytest.approx(motion.by_parameters(derivative, drive, weight), rel=1e-6)
    for column in range(3):
        expected = motion.by_drive(step, drive, weight, 1, column)
        assert by_drive[1, column] == pytest.approx(expected, rel=1e-6)


def test_a_cavity_that_only_inflates_is_not_sucked_empty(build, motion):
    """With minPressure=0 a volume below that without pressure gives no pressure, no derivative."""
    _, step, derivative = build("volumeGrowth", minPressure=0.0)
    drive, weight = np.full((STEPS, 1), -800.0), motion.weights(step)
    taken, _, _ = motion.simulate(step, drive)
    assert not any(one.held.any() or one.lam.any() for one in taken)
    _, by_drive, _ = motion.backward(derivative, taken, weight)
    assert not by_drive.any()


@pytest.mark.parametrize("kind", ["closed", "quads"])
def test_the_volume_is_an_output(build, motion, kind):
    """At rest that of the scene; its derivatives by positions are those of differences, to 1e-7,
    and forward is the transpose of backward."""
    root, step, _ = build(kind=kind)
    outputs = StepOutputs(step, sparse.csr_array((0, step.size)), step.drives.constraints)
    cavity = root.beam.chamber.pressure
    assert outputs.evaluate(step.x0) == pytest.approx([cavity.initialCavityVolume.value], rel=1e-12)
    _, x, _ = motion.simulate(step, RISE * FULL["pressure"])
    assert outputs.evaluate(x) > 1.02 * outputs.evaluate(step.x0)
    dx = np.random.default_rng(2).normal(size=(2, step.size, 3))
    dx[:, step.system.fixed] = 0.0
    expected = [
        motion.slope(lambda t, d=d: outputs.evaluate(x + (t - 1.0) * d)[0], 1.0) for d in dx
    ]
    outputs.evaluate(x)
    assert outputs.forward(dx)[0] == pytest.approx(expected, rel=1e-7)
    assert np.tensordot(dx, outputs.backward(np.ones(1)), 2) == pytest.approx(expected, rel=1e-7)


def test_pressure_has_no_stiffness_of_cables(Sofa, beam, build):
    root = Sofa.Core.Node("root")
    node = beam(root, cables=1)
    chamber = node.addChild("chamber")
    corners, faces = surface("closed")
    chamber.addObject("MechanicalObject", position=corners)
    chamber.addObject("SurfacePressureConstraint", name="pressure", **faces)
    chamber.addObject("BarycentricMapping")
    field = add_line_stiffness(root, node.cable_0.cable)
    Sofa.Simulation.init(root)
    drives = [node.cable_0.cable, chamber.pressure]
    with pytest.raises(ValueError, match="one force field for each cable, driven by tension"):
        ImplicitStep(root, drives, stiffness=[field])
