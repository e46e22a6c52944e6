import numpy as np
import pytest

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.runtime.simulation import simulation

EXACT = {
    "maxNbIterationsNewton": 30,
    "maxNbIterationsLineSearch": 10,
    "relativeSuccessiveStoppingThreshold": 0.0,
    "relativeInitialStoppingThreshold": 1e-11,
    "absoluteResidualStoppingThreshold": 0.0,
}


@pytest.fixture
def hanging(root, grid):
    """Makes a clamped beam that bends under gravity; newton=None: without a NewtonRaphsonSolver."""

    def make(newton=EXACT, gravity=-2.0, mass=True, material="NeoHookean", **values):
        root.gravity = [0.0, gravity, 0.0]
        points, elements = grid((6, 1, 1), (6.0, 1.0, 1.0))
        node = root.addChild("beam")
        if newton is not None:
            node.addObject("NewtonRaphsonSolver", name="newton", **newton)
        node.addObject("StaticSolver", name="solver", **values)
        node.addObject("SparseLDLSolver", name="linear_solver")
        node.addObject("MechanicalObject", name="dofs", position=points.tolist())
        node.addObject("MeshTopology", tetrahedra=elements.tolist())
        if mass:
            node.addObject("UniformMass", totalMass=1.0)
        node.addObject(
            "TetrahedronHyperelasticityFEMForceField", name="elasticity", materialName=material,
            ParameterSet=[200.0, 300.0],
        )  # fmt: skip
        foot = np.flatnonzero(points[:, 0] < 1e-9)
        node.addObject("FixedProjectiveConstraint", indices=foot.tolist())
        return node

    return make


@pytest.fixture
def springs(root):
    """Makes particles on springs, m g / k = 0.5 below their rest under gravity."""

    def make(parent, count=2, **values):
        root.gravity = [0.0, -10.0, 0.0]
        node = parent.addChild("springs")
        node.addObject("StaticSolver", name="solver", **values)
        node.addObject("SparseLDLSolver")
        rest = np.arange(3.0 * count).reshape(count, 3)
        node.addObject("MechanicalObject", name="dofs", position=rest.tolist())
        node.addObject("UniformMass", vertexMass=2.0)
        node.addObject("RestShapeSpringsForceField", stiffness=40.0)
        return node

    return make


def test_a_step_goes_to_the_equilibrium(hanging, root, run):
    """All forces of free nodes balance; the beam has sagged."""
    node = hanging()
    run(root, 1)
    assert node.newton.status.value == "ConvergedResidualInitialRatio"
    system = simulation.loop_of(root).systems[0]
    system.compute_force()
    system.project(system.force)
    assert np.abs(system.force).max() < 1e-11 * 2.0
    assert node.dofs.position.array()[-1, 1] < 1.0 - 0.3


@pytest.mark.parametrize("material", ["StVenantKirchhoff", "NeoHookean", "StableNeoHookean"])
def test_near_the_equilibrium_newton_converges_quadratically(material, hanging, root, run):
    """One iteration from x + e d leaves a residual of C e^2 with the exact stiffness, of C e with
    one that leaves something out. log2 of the ratio is 2; 0.1 for the next term at e = 1e-3."""
    node = hanging(material=material)
    run(root, 1)
    x = node.dofs.position.array().copy()
    direction = np.random.default_rng(0).uniform(-1.0, 1.0, x.shape) * (x[:, :1] > 1e-9)
    node.newton.maxNbIterationsNewton.value = 1
    left = []
    for e in (2e-3, 1e-3):
        node.dofs.position.value = x + e * direction
        run(root, 1)
        left.append(np.sqrt(node.newton.residualGraph.array()[-1]))
    assert np.log2(left[0] / left[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("material", ["StVenantKirchhoff", "NeoHookean", "StableNeoHookean"])
def test_the_equilibrium_is_a_minimum_of_the_energy(material, hanging, root, run):
    """E = elastic energy - m g . x is greater all around: by e^2 d K d / 2 > 0."""
    node = hanging(material=material)
    run(root, 1)
    x = node.dofs.position.array().copy()
    weight = np.array([0.0, -2.0, 0.0]) / len(x)

    def energy(x):
        node.dofs.position.value = x
        return node.elasticity.energy() - np.vdot(np.tile(weight, (len(x), 1)), x)

    random = np.random.default_rng(0)
    for _ in range(20):
        d = random.uniform(-1e-5, 1e-5, x.shape) * (x[:, :1] > 1e-9)
        assert energy(x + d) > energy(x)


def test_the_next_steps_stay_there(hanging, root, run):
    """At equilibrium already: no iteration, no move; time goes on."""
    node = hanging(newton=EXACT | {"absoluteResidualStoppingThreshold": 1e-8})
    run(root, 1)
    first = node.dofs.position.array().copy()
    run(root, 3)
    assert node.newton.status.value == "ConvergedEquilibrium"
    assert (node.dofs.position.array() == first).all()
    assert root.time.value == pytest.approx(0.04)


def test_velocities_are_left_alone(springs, root, run):
    """As in SOFA: neither changed nor used."""
    node = springs(root, absolute_residual_tolerance_threshold=1e-9)
    node.dofs.velocity.value = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    run(root, 2)
    assert node.dofs.velocity.array().tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    expected = np.arange(6.0).reshape(2, 3) - [0.0, 0.5, 0.0]
    assert node.dofs.position.array() == pytest.approx(expected, abs=1e-14)


def test_no_mass_is_needed(hanging, root, run):
    """Without weight the beam stays as it is."""
    node = hanging(mass=False)
    run(root, 1)
    assert node.dofs.position.array() == pytest.approx(node.dofs.rest_position.array(), abs=1e-14)


def test_what_hangs_on_the_body_counts(springs, root, run):
    """A mapped mass of 2 on a spring of 40 beside the node's own: u = 10 (2 + 2) / (40 + 40), after
    one iteration, as all is linear; the forces on the follower are those where it is then."""
    node = springs(root)
    child = node.addChild("load")
    rest = [[0.0, 1.0, 2.0]]
    child.addObject("MechanicalObject", name="dofs", position=rest, rest_position=rest)
    child.addObject("UniformMass", totalMass=2.0)
    child.addObject("RestShapeSpringsForceField", stiffness=40.0)
    child.addObject("SubsetMapping", indices=[0])
    run(root, 1)
    assert node.dofs.position.array()[:, 1] == pytest.approx([1.0 - 0.5, 4.0 - 0.5])
    assert child.dofs.position.array() == pytest.approx(node.dofs.position.array()[:1])
    newton = node.getObject("NewtonRaphsonSolver")
    assert newton.residualGraph.array() == pytest.approx([40.0**2 + 20.0**2, 0.0])


def test_a_rigid_body_finds_its_place(root, run):
    """On a spring, m g / k below its rest; the turn stays."""
    root.gravity = [0.0, -10.0, 0.0]
    node = root.addChild("body")
    node.addObject("StaticSolver")
    node.addObject("SparseLDLSolver")
    pose = [1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8]
    node.addObject("MechanicalObject", name="dofs", template="Rigid3", position=[pose])
    node.addObject("UniformMass", totalMass=2.0)
    node.addObject("RestShapeSpringsForceField", stiffness=40.0, angularStiffness=10.0)
    run(root, 1)
    expected = [[1.0, 1.5, 3.0, *pose[3:]]]
    assert node.dofs.position.array() == pytest.approx(np.array(expected), abs=1e-14)


def test_reset_brings_back_the_first_step(hanging, root, run):
    """Bit for bit, and the status with it."""
    node = hanging()
    run(root, 1)
    first = node.dofs.position.array().copy()
    simulation.reset(root)
    assert node.newton.status.value == "Undefined"
    run(root, 1)
    assert (node.dofs.position.array() == first).all()


def test_without_newtons_method_one_is_added_that_makes_one_iteration(hanging, root, run, caplog):
    """SOFA's defaults, and a warning that says so and another that it did not converge."""
    node = hanging(newton=None)
    run(root, 1)
    newton = node.getObject("NewtonRaphsonSolver")
    assert len(newton.residualGraph.array()) == 2
    assert "has no NewtonRaphsonSolver; one was added with its defaults" in caplog.text
    assert "did not converge in 1 iteration(s)" in caplog.text
    simulation.reset(root)
    assert newton.status.value == "Undefined"


def test_old_names_are_translated_for_the_one_that_is_added(springs, root, run, caplog):
    """As SOFA does; its relative_residual... becomes a threshold for steps there."""
    node = springs(
        root, newton_iterations=7, absolute_residual_tolerance_threshold=1e-3,
        absolute_correction_tolerance_threshold=1e-4, relative_residual_tolerance_threshold=1e-6,
        should_diverge_when_residual_is_growing=True,
    )  # fmt: skip
    run(root)
    newton = node.getObject("NewtonRaphsonSolver")
    assert newton.maxNbIterationsNewton.value == 7
    assert newton.absoluteResidualStoppingThreshold.value == 1e-3
    assert newton.absoluteEstimateDifferenceThreshold.value == 1e-4
    assert newton.relativeEstimateDifferenceThreshold.value == 1e-6
    assert newton.relativeInitialStoppingThreshold.value == 1e-5
    assert "one was added with maxNbIterationsNewton=7, absoluteEstimateDifference" in caplog.text


def test_old_names_do_nothing_beside_a_newton_solver(hanging, root, run, caplog):
    node = hanging(newton_iterations=2)
    run(root)
    assert node.newton.maxNbIterationsNewton.value == 30
    assert (
        "'newton_iterations' of StaticSolver '/beam/solver' does nothing beside a "
        "NewtonRaphsonSolver: set 'maxNbIterationsNewton'" in caplog.text
    )


def test_newtons_method_is_found_below_and_by_its_link(springs, root, run):
    """Searched in the node and below, not above; a link leads anywhere."""
    root.addObject("NewtonRaphsonSolver", name="above", maxNbIterationsNewton=9)
    node = springs(root)
    node.addChild("child").addObject("NewtonRaphsonSolver", name="below")
    linked = root.addChild("other")
    other = springs(linked, newtonSolver="@/above")
    run(root)
    assert node.solver.newton.getName() == "below"
    assert other.solver.newton.getName() == "above"


def test_a_link_to_something_else_is_an_error(springs, root, run):
    springs(root, newtonSolver="@dofs")
    with pytest.raises(SceneError, match="newtonSolver"):
        run(root)


def test_under_a_free_motion_loop_it_is_an_error(springs, root, run):
    """SOFA's loses the solution there."""
    root.addObject("FreeMotionAnimationLoop")
    node = springs(root)
    node.addObject("LinearSolverConstraintCorrection")
    with pytest.raises(SceneError, match="StaticSolver.*moves nothing under FreeMotion.*Use Defau"):
        run(root)


def test_no_equilibrium_because_nothing_holds_it_is_an_error(root, run):
    """Particles without springs: K = 0."""
    root.gravity = [0.0, -10.0, 0.0]
    node = root.addChild("free")
    node.addObject("StaticSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", position=[[0.0, 0.0, 0.0]])
    node.addObject("UniformMass", totalMass=1.0)
    with pytest.raises(SceneError, match="cannot factorise the system matrix: it is singular"):
        run(root, 1)


def test_elements_that_turn_inside_out_end_as_diverged(hanging, root, run):
    """A weight that the full Newton step cannot follow: ln J of J < 0 is NaN, and the loop says
    which state it was."""
    hanging(newton=EXACT | {"maxNbIterationsLineSearch": 1}, gravity=-3e3)
    with pytest.raises(DivergedError, match="nodes are NaN or infinite"):
        run(root, 1)
