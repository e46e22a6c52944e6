"""The component of elasticity without locking: what it reads, shows, refuses."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.split import split
from sofa_softctl.runtime.simulation import snapshot

YOUNG, POISSON, STRETCH = 500.0, 0.3, 1e-4
CUBE = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)


def bar_of(element, box):
    """Positions of a bar of two cells, and its topology's Data."""
    if element == "hexahedra":
        cells = np.stack([np.arange(8), np.array([4, 5, 6, 7, 8, 9, 10, 11])])
        points = np.concatenate([CUBE, CUBE[4:] + [0, 0, 1]]).astype(float)
        return points, {"hexahedra": cells}
    points, tetrahedra = box(2, 2, 3)
    if element == "quadratic":
        mesh = split(Mesh(points, tetrahedra=tetrahedra))
        return mesh.positions, {"tetrahedra": mesh.tetrahedra}
    return points, {"tetrahedra": tetrahedra}


@pytest.fixture
def bar(Sofa, root, box):
    """Makes a bar of two cells with elasticity that does not lock: (element, position, values)."""

    def make(element, positions=None, **values):
        points, cells = bar_of(element, box)
        root.dt = 0.01
        body = root.addChild("body")
        body.addObject("EulerImplicitSolver", name="ode")
        body.addObject("SparseLDLSolver")
        body.addObject("MeshTopology", name="mesh", position=points, **cells)
        body.addObject("MechanicalObject", name="dofs", position=points)
        body.addObject("UniformMass", totalMass=1.0)
        defaults = {"youngModulus": YOUNG, "poissonRatio": POISSON}
        given = defaults | {"quadratic": element == "quadratic"} | values
        body.addObject("AssumedStrainFEMForceField", name="fem", **given)
        Sofa.Simulation.init(root)
        if positions is not None:
            body.dofs.position.value = positions(points)
        return body

    return make


every_element = pytest.mark.parametrize("element", ["tetrahedra", "quadratic", "hexahedra"])


def force_of(body):
    force = np.zeros((len(body.dofs.position.value), 3))
    body.fem.add_force(force)
    return force


def pull(points):
    """A bar that is pulled along z, and gets thinner."""
    return points * [1.0 - POISSON * STRETCH, 1.0 - POISSON * STRETCH, 1.0 + STRETCH]


def twist(points):
    """A bar with strains that are not uniform."""
    x, y, z = points.T
    return points + 0.05 * np.column_stack([y * z, -x * z, x * y]) / np.ptp(points)


@every_element
def test_a_pulled_bar_has_the_stress_young_times_strain(bar, element):
    """1e-3: terms of the next order. Its energy is half of stress times strain times volume."""
    body = bar(element, pull, computeVonMisesStress=True)
    stress = body.fem.vonMisesPerElement.value
    assert stress == pytest.approx(np.full(len(stress), YOUNG * STRETCH), rel=1e-3)
    assert body.fem.vonMisesPerNode.value == pytest.approx(YOUNG * STRETCH, rel=1e-3)
    volume = np.ptp(body.dofs.rest_position.value, axis=0).prod()
    energy = body.fem.strainEnergyPerElement.value.sum()
    assert energy == pytest.approx(0.5 * YOUNG * STRETCH**2 * volume, rel=1e-3)
    assert body.fem.energy() == pytest.approx(energy, rel=1e-12)


@every_element
def test_the_energies_of_elements_sum_up_to_that_of_the_body(bar, element):
    body = bar(element, twist, computeVonMisesStress=True)
    energy = body.fem.strainEnergyPerElement.value.sum()
    assert energy > 0.0
    assert body.fem.energy() == pytest.approx(energy, rel=1e-12)


@every_element
def test_a_modulus_that_changes_counts_in_the_next_step(bar, element):
    """Forces are in proportion to Young's modulus, which a scene sets without `reinit`."""
    body = bar(element, twist)
    before = force_of(body)
    body.fem.youngModulus.value = [2.0 * YOUNG]
    assert force_of(body) == pytest.approx(2.0 * before, rel=1e-12)
    body.fem.poissonRatio.value = [0.49]
    assert np.abs(force_of(body)).max() > 1.5 * np.abs(2.0 * before).max()


@every_element
@pytest.mark.parametrize("material", ["Corotational", "MooneyRivlin"])
def test_forces_per_modulus_add_up_to_the_force(bar, element, material):
    """f = sum over elements of E df/dE; rounding."""
    body = bar(element, twist, materialName=material)
    force, total = force_of(body), np.zeros_like(force_of(body))
    half = len(body.fem.elements) // 2
    for part in (slice(0, half), slice(half, None)):
        body.fem.add_force_per_modulus(part, total)
    assert total * YOUNG == pytest.approx(force, rel=1e-10, abs=1e-10 * np.abs(force).max())
    assert np.abs(force).max() < YOUNG * body.fem.largest_force_per_modulus(slice(None))


@every_element
def test_moduli_of_elements_are_shown_and_restored(bar, element, Sofa, root):
    body = bar(element, twist)
    before, saved = force_of(body), snapshot.take_snapshot(root)
    body.fem.set_moduli([0], 3.0 * YOUNG)
    shown = body.fem.youngModulus.value
    assert (shown[0], shown[-1]) == pytest.approx((3.0 * YOUNG, YOUNG))
    assert body.fem.moduli() == pytest.approx(shown)
    assert np.abs(force_of(body) - before).max() > 1e-3
    snapshot.put_back(root, saved)
    assert np.array_equal(force_of(body), before)


def test_regions_keep_their_strains_apart(bar):
    """A rigid half leaves the soft half as compliant as a bar of half the length."""
    body = bar("tetrahedra", pull, youngModulus=[YOUNG] * 6 + [1e6 * YOUNG] * 6)
    soft = body.fem.points.shear[:, :6].sum(axis=1) > 0.0
    rigid = body.fem.points.shear[:, 6:].sum(axis=1) > 0.0
    assert not (soft & rigid).any()
    assert body.fem.points.shear.shape[0] > (soft | rigid).sum()  # the rest are patches of volume


def test_regions_can_be_given(bar):
    """Of equal moduli, and yet apart."""
    points = bar("tetrahedra", regions=[0] * 6 + [1] * 6).fem.points
    lower, upper = (points.shear[:, part].sum(axis=1) > 0.0 for part in (slice(6), slice(6, 12)))
    assert lower.any() and upper.any()
    assert not (lower & upper).any()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"poissonRatio": 0.5}, "needs poissonRatio from 0 to below 0.5, got 0.5"),
        ({"poissonRatio": -0.1}, "needs poissonRatio from 0 to below 0.5, got -0.1"),
        ({"youngModulus": float("nan")}, "takes a list of numbers, got nan"),
        ({"materialName": "Rubber"}, "Rubber"),
        ({"materialName": "NeoHookean", "ParameterSet": [1.0]}, "needs 2 numbers in ParameterSet"),
        ({"materialName": "NeoHookean", "ParameterSet": [-1.0, 1.0]}, "without stiffness at rest"),
        ({"materialName": "MooneyRivlin", "ParameterSet": [1, -1, 9]}, "Both must be above 0"),
        ({"materialName": "NeoHookean", "ParameterSet": [0.0, 0.0]}, "Both must be above 0"),
        ({"regions": [0, 1]}, "needs a number for each of 12 elements in 'regions', got 2"),
        ({"quadratic": True}, "are not the eighths of 10-node ones"),
    ],
)
def test_what_is_wrong_is_told(bar, values, says):
    with pytest.raises(SceneError, match=says):
        bar("tetrahedra", **values)


@pytest.mark.parametrize("material", ["NeoHookean", "StVenantKirchhoff"])
def test_steps_of_hyperelastic_hexahedra_take_all_of_their_stiffness(bar, material):
    """Of bending too, as the compression of a strongly bent bar is balanced by it: -df/dx."""
    body = bar("hexahedra", twist, materialName=material)
    x = body.dofs.position.value.copy()
    direction = np.random.default_rng(0).normal(size=x.shape)
    force_of(body)
    product = np.zeros_like(x)
    body.fem.add_product(product, direction, 1.0)
    ahead, behind = (_force_at(body, x + step * direction) for step in (1e-6, -1e-6))
    assert product == pytest.approx((behind - ahead) / 2e-6, rel=1e-6, abs=1e-6 * YOUNG)


def _force_at(body, x):
    body.dofs.position.value = x
    return force_of(body)


def test_quadratic_is_for_tetrahedra(bar):
    with pytest.raises(SceneError, match="quadratic=True, which is for tetrahedra"):
        bar("hexahedra", quadratic=True)


def test_parameters_show_the_moduli_at_rest(bar):
    """mu = 100 and lambda = 200: E = mu (3 lambda + 2 mu) / (lambda + mu), nu = 1/3."""
    values = {"youngModulus": [5000.0], "poissonRatio": [0.45]}
    body = bar("tetrahedra", materialName="NeoHookean", ParameterSet=[100.0, 200.0], **values)
    assert body.fem.youngModulus.value == pytest.approx([800.0 / 3.0])
    assert body.fem.poissonRatio.value == pytest.approx([1.0 / 3.0])


def test_mixed_elements_are_refused(Sofa, root):
    body = root.addChild("body")
    body.addObject(
        "MeshTopology", name="mesh", position=CUBE, hexahedra=[range(8)], tetrahedra=[[0, 1, 2, 4]]
    )
    body.addObject("MechanicalObject", position=CUBE)
    body.addObject("AssumedStrainFEMForceField")
    with pytest.raises(SceneError, match="finds 1 tetrahedra and 1 hexahedra .* takes one kind"):
        Sofa.Simulation.init(root)


def test_a_folded_hexahedron_is_named(Sofa, root):
    points = CUBE.astype(float)
    points[6] = [0.2, 0.2, 0.2]
    body = root.addChild("body")
    body.addObject("MeshTopology", position=points, hexahedra=[range(8)])
    body.addObject("MechanicalObject", position=points)
    body.addObject("AssumedStrainFEMForceField")
    with pytest.raises(
        SceneError, match="1 of 1 elements that are folded or flat, first hexahedron 0 near"
    ):
        Sofa.Simulation.init(root)
