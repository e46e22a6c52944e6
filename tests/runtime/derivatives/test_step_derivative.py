"""Derivatives of the time step as it is taken: against differences, and against each other."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.derivatives import parameters as kinds
from sofa_softctl.runtime.derivatives.implicit_step import ImplicitStep
from sofa_softctl.runtime.derivatives.step_derivative import Cotangent, StepDerivative, Tangent
from sofa_softctl.scene.control.line_stiffness import add_line_stiffness

STEPS = 4
DRIVE = {"force": (900.0, 300.0), "displacement": (3.0, 1.0)}
"""Tensions [mN], or lengths pulled in [mm]: the beam bends by a third of its width."""


@pytest.fixture
def build(Sofa, beam):
    """Makes a beam with two cables, its step, and one parameter of every kind."""

    def make(
        value_type="force", method="large", mass="UniformMass", kind="Tetrahedron", stiff=False
    ):
        root = Sofa.Core.Node("root")
        node = beam(root, (2, 2, 5), cables=2, value_type=value_type)
        if method != "large" or kind != "Tetrahedron":
            node.removeObject(node.fem)
            name = {"Tetrahedron": "TetrahedronFEMForceField"}.get(
                kind, "FastTetrahedralCorotationalForceField"
            )
            node.addObject(name, name="fem", method=method, youngModulus=400.0, poissonRatio=0.4)
        if mass != "UniformMass":
            node.removeObject(node.mass)
            node.addObject(mass, name="mass", totalMass=0.04)
        node.ode.rayleighMass.value = 20.0  # enough to matter within a few steps
        node.addObject("RestShapeSpringsForceField", name="spring", points=[19], stiffness=[2.0])
        cables = [node.cable_0.cable, node.cable_1.cable]
        fields = [add_line_stiffness(root, cable) for cable in cables] if stiff else []
        Sofa.Simulation.init(root)
        imposed = [value_type == "displacement"] * 2
        step = ImplicitStep(root, cables, imposed, stiffness=fields)
        third = len(node.fem.elements) // 3
        parameters = [
            kinds.Moduli(node.fem, np.arange(third)),
            kinds.Moduli(node.fem, np.arange(third, 3 * third)),
            kinds.PoissonRatio(node.fem),
            kinds.RayleighMass(node.ode),
            kinds.RayleighStiffness(node.ode),
            kinds.TotalMass(node.mass),
        ]
        return root, step, StepDerivative(step, parameters)

    return make


def drives(value_type="force"):
    """Of each step: they rise, so that the beam is moving all the time; shape (STEPS, 2)."""
    return np.linspace(0.3, 1.0, STEPS)[:, None] * DRIVE[value_type]


def simulate(step, drive, start=None):
    """Every step from the start on, and the position after the last."""
    x, v = (step.x0, step.v0) if start is None else start
    taken = []
    for u in drive:
        step.evaluate(x, step.dt, u)
        taken.append(step.advance(v, u))
        x, v = x + step.dt * taken[-1].w, taken[-1].w
    return taken, x, v


def weights(step):
    rng = np.random.default_rng(3)
    return Cotangent(*rng.normal(size=(2, step.size, 3)) * [[[1.0]], [[0.02]]])


def forward(derivative, taken, drive=None):
    """Derivatives of the last state by the parameters (and by what `drive` depends on)."""
    count = len(derivative.parameters)
    tangent = Tangent(*np.zeros((2, count, derivative.step.size, 3)))
    for number, one in enumerate(taken):
        derivative.set_step(one)
        tangent = derivative.forward(tangent, None if drive is None else drive[:, number])
    return tangent


def backward(derivative, taken, cotangent):
    """Derivatives of a weighted last state by the parameters, each drive, and the first state."""
    sums, by_drive = derivative.sums(), []
    for one in reversed(taken):
        derivative.set_step(one)
        cotangent, found = derivative.backward(cotangent, sums)
        by_drive.insert(0, found)
    return derivative.collect(sums), np.array(by_drive), cotangent


def weighed(weight, x, v):
    return np.vdot(weight.x, x) + np.vdot(weight.v, v)


def slope(function, value, relative=1e-3):
    """Derivative by central differences of fourth order: the relative error is about 1e-12 of the
    curvature, and 1e-13 of the value."""
    h = relative * value
    ends = [function(value + k * h) for k in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


def differences(derivative, drive, weight):
    """Derivatives of the weighted last state by the parameters, from whole simulations."""
    step, found = derivative.step, []
    for parameter in derivative.parameters:
        value = parameter.get()

        def ended(changed, parameter=parameter):
            parameter.set(changed)
            _, x, v = simulate(step, drive)
            return weighed(weight, x - step.x0, v)

        found.append(slope(ended, value))
        parameter.set(value)
    return np.array(found)


@pytest.mark.parametrize("value_type", ["force", "displacement"])
def test_the_step_is_that_of_the_scene(Sofa, build, value_type):
    """Same equations in another order: 1e-9 of the motion for the sums, with displacements what
    the scene's Gauss-Seidel leaves, 1e-10 of a row."""
    root, step, _ = build(value_type)
    _, x, v = simulate(step, drives(value_type))
    other, again, _ = build(value_type)
    node = other.beam
    for u in drives(value_type):
        scale = again.dt if value_type == "force" else 1.0  # SOFA's cables take impulses
        for number in range(2):
            node.getChild(f"cable_{number}").cable.value.value = [u[number] * scale]
        Sofa.Simulation.animate(other, 0.01)
    moved = np.abs(x - step.x0).max()
    assert moved > 1.0
    assert node.dofs.position.value == pytest.approx(x, abs=1e-8 * moved)
    assert node.dofs.velocity.value == pytest.approx(v, abs=1e-8 * np.abs(v).max())


def test_the_step_with_the_stiffness_of_tight_cables_is_that_of_the_scene(Sofa, build):
    """As above; without the stiffness it moves otherwise, by more than 1e-3."""
    _, plain, _ = build()
    root, step, _ = build(stiff=True)
    _, x, _ = simulate(step, drives())
    _, other_x, _ = simulate(plain, drives())
    other, again, _ = build(stiff=True)
    node = other.beam
    for u in drives():
        for number, field in enumerate(again.stiffness):
            node.getChild(f"cable_{number}").cable.value.value = [u[number] * again.dt]
            field.tension = u[number]
        Sofa.Simulation.animate(other, 0.01)
    moved = np.abs(x - step.x0).max()
    assert np.abs(other_x - x).max() > 1e-3 * moved
    assert node.dofs.position.value == pytest.approx(x, abs=1e-8 * moved)


def test_derivatives_with_the_stiffness_of_tight_cables_are_those_of_differences(build):
    """By the drive and by parameters, which need the derivative by positions; tolerances as
    without it."""
    _, step, derivative = build(stiff=True)
    drive, weight = drives(), weights(step)
    taken, _, _ = simulate(step, drive)
    found, by_drive, _ = backward(derivative, taken, weight)
    assert found == pytest.approx(differences(derivative, drive, weight), rel=1e-6)
    for number, cable in ((0, 0), (2, 1)):

        def ended(value, number=number, cable=cable):
            moved = drive.copy()
            moved[number, cable] = value
            _, x, v = simulate(step, moved)
            return weighed(weight, x - step.x0, v)

        expected = slope(ended, drive[number, cable])
        assert by_drive[number, cable] == pytest.approx(expected, rel=1e-6)
    direction = np.random.default_rng(1).normal(size=(len(derivative.parameters), *drive.shape))
    both, alone = (forward(derivative, taken, d) for d in (direction, None))
    added = np.tensordot(both.x - alone.x, weight.x, 2) + np.tensordot(
        both.v - alone.v, weight.v, 2
    )
    assert added == pytest.approx(np.tensordot(direction, by_drive, 2), rel=1e-9)


def test_a_cable_with_stiffness_is_driven_by_tension(build):
    with pytest.raises(ValueError, match="one force field for each cable, driven by tension"):
        build("displacement", stiff=True)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("Tetrahedron", "large"),
        ("Tetrahedron", "polar"),
        ("Tetrahedron", "small"),
        ("Fast", "polar"),
    ],
)
@pytest.mark.parametrize("value_type", ["force", "displacement"])
def test_gradients_are_those_of_differences_for_every_kind_of_parameter(
    build, value_type, kind, method
):
    """1e-6, where a gradient that cancels to 1e-4 of its parts still has nine digits."""
    _, step, derivative = build(value_type, method, kind=kind)
    taken, _, _ = simulate(step, drives(value_type))
    weight = weights(step)
    found, _, _ = backward(derivative, taken, weight)
    assert found == pytest.approx(differences(derivative, drives(value_type), weight), rel=1e-6)


@pytest.mark.parametrize("mass", ["MeshMatrixMass", "DiagonalMass"])
def test_other_masses_have_exact_derivatives_too(build, mass):
    """As for UniformMass."""
    _, step, derivative = build(mass=mass)
    taken, _, _ = simulate(step, drives())
    weight = weights(step)
    found, _, _ = backward(derivative, taken, weight)
    assert found == pytest.approx(differences(derivative, drives(), weight), rel=1e-6)


@pytest.mark.parametrize("value_type", ["force", "displacement"])
def test_forward_and_adjoint_agree(build, value_type):
    """The same sums in another order: 1e-10."""
    _, step, derivative = build(value_type)
    taken, _, _ = simulate(step, drives(value_type))
    weight = weights(step)
    found, _, _ = backward(derivative, taken, weight)
    tangent = forward(derivative, taken)
    other = np.tensordot(tangent.x, weight.x, 2) + np.tensordot(tangent.v, weight.v, 2)
    assert found == pytest.approx(other, rel=1e-10)


@pytest.mark.parametrize("value_type", ["force", "displacement"])
def test_derivatives_by_the_drive_are_those_of_differences(build, value_type):
    """As by parameters; forward as backward."""
    _, step, derivative = build(value_type)
    drive, weight = drives(value_type), weights(step)
    taken, _, _ = simulate(step, drive)
    _, found, _ = backward(derivative, taken, weight)
    for number, cable in ((0, 0), (2, 1)):

        def ended(value, number=number, cable=cable):
            moved = drive.copy()
            moved[number, cable] = value
            _, x, v = simulate(step, moved)
            return weighed(weight, x - step.x0, v)

        expected = slope(ended, drive[number, cable])
        assert found[number, cable] == pytest.approx(expected, rel=1e-6)
    direction = np.random.default_rng(1).normal(size=(len(derivative.parameters), *drive.shape))
    both, alone = (forward(derivative, taken, d) for d in (direction, None))
    by_drive = np.tensordot(both.x - alone.x, weight.x, 2)
    by_drive += np.tensordot(both.v - alone.v, weight.v, 2)
    assert by_drive == pytest.approx(np.tensordot(direction, found, 2), rel=1e-9)


def test_derivatives_by_the_first_state_are_those_of_differences(build):
    """Along a random direction of positions and velocities."""
    _, step, derivative = build()
    rng, weight = np.random.default_rng(5), weights(step)
    dx, dv = rng.normal(size=(2, step.size, 3)) * 0.3
    step.system.project(dx)
    step.system.project(dv)
    taken, _, _ = simulate(step, drives())
    _, _, first = backward(derivative, taken, weight)

    def ended(share):
        start = (step.x0 + (share - 1.0) * dx, step.v0 + (share - 1.0) * dv)
        _, x, v = simulate(step, drives(), start)
        return weighed(weight, x - step.x0, v)

    assert weighed(first, dx, dv) == pytest.approx(slope(ended, 1.0), rel=1e-6)


def test_the_matrix_of_the_step_turns_and_its_derivative_counts(build, monkeypatch):
    """Without dA/dx (Z without its velocities, of which A is the factor) a gradient is wrong."""
    _, step, derivative = build()
    taken, _, _ = simulate(step, drives())
    weight = weights(step)
    exact, _, _ = backward(derivative, taken, weight)
    from sofa_softctl.runtime.kernels.elasticity import corotational_derivative as kernel

    whole = kernel.add_transposed

    def held(y, elements, h, G, Z, stiffness, dt, out, by_stiffness):
        still = np.empty_like(Z)
        x = np.ascontiguousarray(derivative.taken.x)
        kernel.gradients(x, np.zeros_like(x), elements, h, dt, 0.0, still)
        whole(y, elements, h, G, Z, stiffness, dt, np.zeros_like(out), by_stiffness)
        whole(y, elements, h, G, still, stiffness, dt, out, np.zeros_like(by_stiffness))

    monkeypatch.setattr(kernel, "add_transposed", held)
    wrong, _, _ = backward(derivative, taken, weight)
    assert np.abs(wrong / exact - 1.0).max() > 1e-3


def test_slack_cables_do_not_push(build):
    """With minForce=0 a cable that is let out goes slack: no force, no derivative by its length."""
    root, step, derivative = build("displacement")
    step.drives.limited[:] = True
    drive = np.tile([3.0, -4.0], (STEPS, 1))
    taken, _, _ = simulate(step, drive)
    assert taken[-1].lam[0] > 0.0 and taken[-1].lam[1] == 0.0
    assert taken[-1].held.tolist() == [True, False]
    weight = weights(step)
    found, by_drive, _ = backward(derivative, taken, weight)
    assert (by_drive[:, 1] == 0.0).all() and (by_drive[:, 0] != 0.0).all()
    assert found == pytest.approx(differences(derivative, drive, weight), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda n: setattr(n.ode.trapezoidalScheme, "value", True), "has 'trapezoidalScheme' set"),
        (lambda n: setattr(n.fem.rayleighStiffness, "value", 0.1), "rayleighStiffness of its own"),
        (
            lambda n: n.addObject("PositionConstraint", useDirections=[1, 0, 0], value=[1.0]),
            "is a constraint that is neither",
        ),
    ],
)
def test_what_has_no_known_derivative_is_told(Sofa, beam, change, says):
    root = Sofa.Core.Node("root")
    node = beam(root, cables=1)
    change(node)
    Sofa.Simulation.init(root)
    with pytest.raises(SceneError, match=says):
        ImplicitStep(root, [node.cable_0.cable])
