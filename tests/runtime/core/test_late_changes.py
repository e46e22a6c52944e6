"""Values that are set after the start: warned of, once, where the component does not follow."""

import logging

import pytest

from sofa_softctl.errors import SceneError


@pytest.fixture
def fem(root, Sofa):
    """The elasticity of a cube that stands, initialised."""
    root.addObject("DefaultAnimationLoop")
    node = root.addChild("cube")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("RegularGridTopology", n=[2, 2, 2], min=[0, 0, 0], max=[1, 1, 1])
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("ConstantForceField", name="push", totalForce=[0.0, 0.0, 1.0])
    node.addObject("FixedProjectiveConstraint", indices=[0, 1, 2, 3])
    field = node.addObject("TetrahedronFEMForceField", name="fem", youngModulus=100.0)
    Sofa.Simulation.init(root)
    return field


@pytest.fixture
def step(Sofa, root, caplog):
    """Makes a step, and gives what is warned of since the last one."""

    def make():
        Sofa.Simulation.animate(root, 0.01)
        said = [
            record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
        ]
        caplog.clear()
        return said

    return make


def test_a_modulus_that_is_set_is_warned_of_once_with_the_remedy(fem, step):
    fem.youngModulus.value = [50.0]
    (said,) = step()
    assert said.startswith("[/cube/fem] tests/runtime/core/test_late_changes.py:")
    assert said.endswith(
        "'youngModulus' of TetrahedronFEMForceField '/cube/fem' has changed, but the component "
        "still has the old one: call its reinit(), or set updateStiffness=True."
    )
    fem.youngModulus.value = [40.0]
    assert not step()


def set_and_reinit(fem):
    fem.youngModulus.value = [50.0]
    fem.reinit()


def switch_on(fem):
    fem.updateStiffness.value = True
    fem.youngModulus.value = [50.0]


def set_the_same(fem):
    fem.youngModulus.value = [100.0]


def set_what_counts(fem):
    fem.getContext().push.totalForce.value = [0.0, 0.0, 2.0]


def set_and_start_again(fem):
    fem.method.value = "polar"
    fem.init()


@pytest.mark.parametrize(
    "change", [set_and_reinit, switch_on, set_the_same, set_what_counts, set_and_start_again]
)
def test_what_takes_effect_is_not_warned_of(fem, step, change):
    change(fem)
    assert not step()


def test_what_is_read_at_the_start_is_said_to_be_even_after_reinit(fem, step):
    fem.method.value = "polar"
    fem.reinit()
    (said,) = step()
    assert (
        "'method' of TetrahedronFEMForceField '/cube/fem' has changed, but it is read once" in said
    )


def test_a_value_that_follows_another_one_is_warned_of_too(root, Sofa, fem, step):
    """As moduli that are linked to a Data of a prefab or controller."""
    settings = root.addObject(Sofa.Core.Controller(name="settings"))
    settings.addData("young", type="vector<double>", value=[100.0])
    fem.youngModulus.setParent(settings.young)
    fem.reinit()
    assert not step()
    settings.young.value = [50.0]
    (said,) = step()
    assert "'youngModulus' of TetrahedronFEMForceField" in said


def test_a_value_that_is_written_in_place_is_warned_of_too(fem, step):
    with fem.youngModulus.writeableArray() as young:
        young[:] = 50.0
    (said,) = step()
    assert "'youngModulus' of TetrahedronFEMForceField" in said


@pytest.mark.parametrize(
    "name", ["position", "velocity", "rest_position", "force", "reset_position", "free_velocity"]
)
def test_a_state_keeps_a_row_for_each_node(root, fem, step, name):
    """The line that sets it, and no index out of bounds in the step."""
    message = rf"test_late_changes.py:\d+: {name} of '/cube/dofs' has 8 nodes, got 2."
    with pytest.raises(SceneError, match=message):
        root.cube.dofs.findData(name).value = [[1.0, 2.0, 3.0]] * 2
    assert not step()


def test_springs_take_another_stiffness_with_reinit(root, Sofa, step):
    """MeshSpringForceField.stiffness is that of all kinds of elements, as in its constructor."""
    node = root.addChild("net")
    node.addObject("EulerImplicitSolver")
    node.addObject("CGLinearSolver", iterations=20, tolerance=1e-12, threshold=1e-12)
    node.addObject("MeshTopology", position=[[0, 0, 0], [1, 0, 0]], edges=[[0, 1]])
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("FixedProjectiveConstraint", indices=[0])
    node.addObject("ConstantForceField", indices=[1], forces=[[1.0, 0.0, 0.0]])
    springs = node.addObject("MeshSpringForceField", name="net", stiffness=10.0, damping=1.0)
    Sofa.Simulation.init(root)
    springs.stiffness.value = [20.0]
    assert len(step()) == 1
    assert springs.spring.value[0, 2] == 10.0
    springs.reinit()
    assert springs.spring.value[0, 2] == 20.0
    for _ in range(2000):
        Sofa.Simulation.animate(root, 0.1)
    # f / k, and the spring at rest is 1 long
    assert node.dofs.position.value[1, 0] == pytest.approx(1.0 + 1.0 / 20.0, abs=1e-6)


def test_a_mass_that_the_other_data_overrules_is_said_to_be(tolerant, fem, step):
    """As in SOFA totalMass counts where the scene gave it, whatever vertexMass is set to."""
    mass = fem.getContext().UniformMass
    mass.vertexMass.value = 7.0
    (said,) = step()
    assert "'vertexMass' of UniformMass" in said and "was set to 7.0, but is 0.125 again" in said
    mass.totalMass.value = 2.0
    assert not step()


def test_a_rest_position_is_warned_of_where_nothing_follows_it(fem, step):
    state = fem.getContext().dofs
    state.rest_position.value = 1.1 * state.rest_position.value
    (said,) = step()
    assert "'rest_position' of MechanicalObject '/cube/dofs' has changed, but it is read" in said


def test_a_rest_position_that_springs_follow_is_not(Sofa, root, fem, step):
    springs = fem.getContext().addObject("RestShapeSpringsForceField", stiffness=[1.0])
    springs.init()
    state = fem.getContext().dofs
    state.rest_position.value = 1.1 * state.rest_position.value
    assert not step()


@pytest.fixture
def pull(root, Sofa):
    """A cable at a point on a spring that pulls with a multiplier, initialised."""
    root.dt = 0.01
    root.addObject("FreeMotionAnimationLoop")
    root.addObject("GenericConstraintSolver")
    node = root.addChild("point")
    node.addObject("EulerImplicitSolver", name="integrator")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", position=[[1.0, 0.0, 0.0]])
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("RestShapeSpringsForceField", stiffness=[30.0])
    node.addObject("LinearSolverConstraintCorrection")
    return node.addObject(
        "CableConstraint", indices=[0], pullPoint=[5, 0, 0], valueType="force", value=[0.02]
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda pull: None, True),
        (lambda pull: setattr(pull.getContext().integrator, "firstOrder", True), False),
        (lambda pull: setattr(pull, "valueType", "displacement"), False),
        (lambda pull: setattr(pull, "value", [0.0]), False),
    ],
)
def test_a_multiplier_that_stays_when_dt_changes_is_warned_of(
    root, Sofa, pull, caplog, change, said
):
    """As in SOFA it is dt times the force: with half of dt the same number pulls twice as hard."""
    change(pull)
    Sofa.Simulation.init(root)
    for dt in (0.01, 0.01, 0.005, 0.005, 0.005):
        root.dt = dt
        Sofa.Simulation.animate(root, dt)
    assert caplog.text.count("dt is 0.005 now, but 'value' of CableConstraint") == said


def test_a_multiplier_that_follows_dt_is_not_warned_of(root, Sofa, pull, caplog):
    Sofa.Simulation.init(root)
    for dt in (0.01, 0.005, 0.005, 0.002, 0.002):
        root.dt, pull.value = dt, [2.0 * dt]
        Sofa.Simulation.animate(root, dt)
    assert "dt is" not in caplog.text
