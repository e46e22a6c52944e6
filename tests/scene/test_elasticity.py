"""`add_elasticity`: elements without locking in the embedded runtime, SOFA's own in SOFA."""

import numpy as np
import pytest

from sofa_softctl import add_elasticity
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.session import elasticity


@pytest.fixture
def body(root, box):
    """A bar of tetrahedra without elasticity."""
    points, tetrahedra = box(2, 2, 3)
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("TetrahedronSetTopologyContainer", position=points, tetrahedra=tetrahedra)
    node.addObject("MechanicalObject", name="dofs")
    node.addObject("UniformMass", totalMass=1.0)
    return node


def test_one_line_gives_a_body_elasticity(body, root, Sofa):
    field = add_elasticity(body, young_modulus=300.0, poisson_ratio=0.499, material="NeoHookean")
    Sofa.Simulation.init(root)
    assert field.getClassName() == "AssumedStrainFEMForceField"
    assert field.moduli() == pytest.approx(np.full(12, 300.0))
    assert field.materialName.value == "NeoHookean"


def test_moduli_of_elements_and_parameters_of_materials(body, root, Sofa):
    young = np.linspace(100.0, 200.0, 12)
    field = add_elasticity(body, young_modulus=young)
    other = add_elasticity(
        body, material="MooneyRivlin", parameters=[30.0, 20.0, 1000.0], name="other"
    )
    Sofa.Simulation.init(root)
    assert field.moduli() == pytest.approx(young)
    assert other.parameters == pytest.approx(np.tile([30.0, 20.0, 1000.0], (12, 1)))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "needs young_modulus, or parameters of the material"),
        ({"young_modulus": 1.0, "poisson_ratio": 0.5}, "from 0 to below 0.5, got 0.5"),
        ({"young_modulus": 1.0, "poisson_ratio": [0.3, 0.4]}, "must be a number from 0"),
        ({"young_modulus": 1.0, "poisson_ratio": "0.3x"}, "poisson_ratio must be a finite number"),
        ({"young_modulus": 0.0}, "young_modulus must be above 0, got 0.0"),
        ({"young_modulus": float("inf")}, "young_modulus must be a finite number"),
        ({"young_modulus": 1.0, "parameters": [1.0, 2.0]}, "takes either parameters, or"),
        ({"parameters": [[1.0, 2.0]]}, "parameters must be a finite number or a list"),
        ({"material": "Rubber"}, "add_elasticity knows the materials Corotational, .*got 'Rubber'"),
    ],
)
def test_what_is_out_of_range_is_refused(body, values, says):
    with pytest.raises(SceneError, match=says):
        add_elasticity(body, **values)


def moduli(mu, lam):
    return mu * (3 * lam + 2 * mu) / (lam + mu), 0.5 * lam / (lam + mu)


@pytest.mark.parametrize("material", ["StVenantKirchhoff", "NeoHookean", "StableNeoHookean"])
def test_sofas_elements_get_the_same_moduli(body, root, Sofa, material):
    """With a warning, since they are stiffer."""
    young = np.array([300.0])
    field = elasticity._add_locking(body, "own", young, 0.4, material, None)  # noqa: SLF001
    Sofa.Simulation.init(root)
    assert field.getClassName() == "TetrahedronHyperelasticityFEMForceField"
    assert moduli(*field.parameters[0]) == pytest.approx((300.0, 0.4))
    assert "too stiff in bending" in body.getLoggedMessagesAsString()


@pytest.mark.parametrize(
    ("material", "parameters"),
    [("MooneyRivlin", [50.0, 0.0, 500.0]), ("ArrudaBoyce", [None, 500.0])],
)
def test_sofas_rubbers_get_the_same_moduli(body, root, Sofa, material, parameters):
    """E = 281.25 and a ratio of 0.40625: mu = 100, and a bulk modulus of 500."""
    young = np.array([281.25])
    field = elasticity._add_locking(body, "own", young, 0.40625, material, None)  # noqa: SLF001
    Sofa.Simulation.init(root)
    shear, bulk = field.rest_moduli()
    assert (shear[0], bulk[0]) == pytest.approx((100.0, 500.0))
    for value, expected in zip(field.parameters[0], parameters, strict=True):
        assert expected is None or value == pytest.approx(expected)


def test_sofas_corotational_element_takes_lames_parameters(body, root, Sofa):
    field = elasticity._add_locking(  # noqa: SLF001
        body, "own", np.zeros(0), 0.0, "Corotational", [100.0, 200.0]
    )
    Sofa.Simulation.init(root)
    assert field.moduli() == pytest.approx(np.full(12, 800.0 / 3.0))
    assert field.poisson_ratio() == pytest.approx(1.0 / 3.0)


def test_sofas_rubbers_have_a_single_modulus(body):
    with pytest.raises(SceneError, match="SOFA has one modulus for a body of NeoHookean"):
        elasticity._add_locking(  # noqa: SLF001
            body, "own", np.array([1.0, 2.0]), 0.4, "NeoHookean", None
        )


def test_sofas_corotational_element_follows_the_topology(body, root, Sofa):
    young = np.array([300.0])
    linear = elasticity._add_locking(body, "own", young, 0.4, "Corotational", None)  # noqa: SLF001
    assert linear.getClassName() == "TetrahedronFEMForceField"
    grid = root.addChild("grid")
    grid.addObject("RegularGridTopology", n=[2, 2, 3], min=[0, 0, 0], max=[1, 1, 2])
    grid.addObject("MechanicalObject")
    cells = elasticity._add_locking(grid, "own", young, 0.4, "Corotational", None)  # noqa: SLF001
    assert cells.getClassName() == "HexahedronFEMForceField"
    with pytest.raises(SceneError, match="SOFA has no NeoHookean for hexahedra"):
        elasticity._add_locking(grid, "own", young, 0.4, "NeoHookean", None)  # noqa: SLF001
