import math

import numpy as np
import pytest

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.runtime.simulation import simulation
from sofa_softctl.testing import check_force_field

TETRAHEDRON = np.vstack([np.zeros(3), np.eye(3)])
MATERIALS = {
    "StVenantKirchhoff": [3.0, 5.0],
    "NeoHookean": [3.0, 5.0],
    "StableNeoHookean": [3.0, 5.0],
    "MooneyRivlin": [0.9, 0.6, 7.0],
    "ArrudaBoyce": [2.5, 7.0],
}
every_material = pytest.mark.parametrize("material", MATERIALS)


@pytest.fixture
def elastic(root, integrated, run):
    """Makes a hyperelastic body of given tetrahedra."""

    def make(points, elements, rest=None, **values):
        node = integrated(root, "body", points)
        if rest is not None:
            node.dofs.rest_position.value = rest
        node.addObject("MeshTopology", name="mesh", tetrahedra=np.asarray(elements).tolist())
        node.addObject("UniformMass", totalMass=1.0)
        field = node.addObject(
            "TetrahedronHyperelasticityFEMForceField", name="elasticity", **values
        )
        run(root)
        return field

    return make


@pytest.fixture
def stretched(elastic):
    """Makes one tetrahedron, x = factor X, of a material."""

    def make(factor, material="StVenantKirchhoff", parameters=None):
        return elastic(
            TETRAHEDRON * factor, [[0, 1, 2, 3]], rest=TETRAHEDRON, materialName=material,
            ParameterSet=parameters or MATERIALS[material],
        )  # fmt: skip

    return make


def force_of(field):
    force = np.zeros((field.state.count, 3))
    field.add_force(force)
    return force


def pressure(material, s):
    """P of P I in f_a = -V P g_a under x = s X, from the stresses S = P / s of SOFA's materials."""
    if material == "StVenantKirchhoff":  # E = (s^2 - 1) / 2 I
        mu, lam = MATERIALS[material]
        return s * (3.0 * lam + 2.0 * mu) * (s * s - 1.0) / 2.0
    if material == "NeoHookean":
        mu, lam = MATERIALS[material]
        return mu * (s - 1.0 / s) + 3.0 * lam * math.log(s) / s
    if material == "StableNeoHookean":
        mu, lam = MATERIALS[material]
        return mu * s + ((lam + mu) * (s**3 - 1.0) - mu) * s * s
    return 3.0 * MATERIALS[material][-1] * math.log(s) / s  # the others: only the volume changes


@every_material
@pytest.mark.parametrize("s", [0.8, 1.2])
def test_a_uniform_stretch_gives_the_materials_stress(material, s, stretched):
    """The gradients at nodes b, c and d of the unit tetrahedron are the axes, V = 1 / 6: mu comes
    first in ParameterSet, lambda second, or c1, c2, k."""
    expected = -pressure(material, s) / 6.0 * np.eye(3)
    assert force_of(stretched(s, material))[1:] == pytest.approx(expected, abs=1e-14)


@every_material
def test_the_energy_is_the_work_of_the_forces(material, stretched):
    """E(s) = V int_1^s 3 P(t) dt, here by Gauss's rule with 20 points, exact to rounding for these
    smooth P; 0 at rest."""
    field, s = stretched(1.3, material), 1.3
    nodes, weights = np.polynomial.legendre.leggauss(20)
    times = 1.0 + (s - 1.0) * (nodes + 1.0) / 2.0
    work = sum(w * 3.0 * pressure(material, t) for w, t in zip(weights, times, strict=True))
    assert field.energy() == pytest.approx(work * (s - 1.0) / 2.0 / 6.0, rel=1e-12)
    field.state.position.value = TETRAHEDRON
    assert field.energy() == pytest.approx(0.0, abs=1e-15)


@every_material
def test_the_matrix_does_what_the_product_does(material, grid, elastic, dense, product):
    """factor K v by blocks and element by element, at the position of the last forces."""
    points, elements = grid((2, 1, 1), (2.0, 1.0, 1.0))
    field = elastic(points, elements, materialName=material, ParameterSet=MATERIALS[material])
    random = np.random.default_rng(0)
    field.state.position.value = points + random.uniform(-0.1, 0.1, points.shape)
    force_of(field)
    v = random.uniform(-1.0, 1.0, points.shape)
    expected = dense(field, 0.3) @ v.ravel()
    assert product(field, v, 0.3).ravel() == pytest.approx(expected, abs=1e-13)


@pytest.mark.soak
def test_the_stiffness_is_there_before_the_first_step(stretched, dense):
    """At the position of init: x = s X is under stress, K differs from that at rest."""
    field = stretched(1.2)
    first = dense(field)
    force_of(field)
    assert dense(field) == pytest.approx(first, abs=1e-15)


@pytest.mark.parametrize("material", ["NeoHookean", "MooneyRivlin"])
def test_the_moduli_at_rest_are_those_of_linear_elasticity(material, stretched):
    """f = -V 3 K e near rest: the bulk modulus; the shear modulus stands in the parameters."""
    (shear,), (bulk,) = stretched(1.0, material).rest_moduli()
    e = 1e-6
    assert pressure(material, 1.0 + e) / (3.0 * e) == pytest.approx(bulk, rel=1e-5)
    assert shear == pytest.approx(3.0)


def test_chains_at_rest_have_the_shear_modulus_of_the_textbook(stretched):
    """mu (1 + 3/(5 N) + 99/(175 N^2) + 513/(875 N^3) + 42039/(67375 N^4)), N = 8 links a chain."""
    (shear,), (bulk,) = stretched(1.0, "ArrudaBoyce").rest_moduli()
    series = 1 + 3 / (5 * 8) + 99 / (175 * 8**2) + 513 / (875 * 8**3) + 42039 / (67375 * 8**4)
    assert (shear, bulk) == (pytest.approx(2.5 * series, rel=1e-14), 7.0)


def test_chains_pulled_along_an_axis_have_the_energy_of_their_series(elastic):
    """At constant volume I1 = s^2 + 2 / s; the fifth power of I1 is 0.4 % of it at s = 3."""
    s, mu = 3.0, 2.5
    field = elastic(
        TETRAHEDRON * [s, s**-0.5, s**-0.5], [[0, 1, 2, 3]], rest=TETRAHEDRON,
        materialName="ArrudaBoyce", ParameterSet=[mu, 7.0],
    )  # fmt: skip
    terms = zip(
        (1 / 2, 1 / 160, 11 / 67200, 19 / 3584000, 519 / 2759680000), range(1, 6), strict=True
    )
    series = sum(c * ((s * s + 2 / s) ** k - 3**k) for c, k in terms)
    assert field.energy() == pytest.approx(mu * series / 6.0, rel=1e-13)


def test_new_parameters_count_after_reinit(stretched):
    field = stretched(1.2)
    before = force_of(field)
    field.ParameterSet.value = [6.0, 10.0]
    assert force_of(field) == pytest.approx(before)
    field.reinit()
    assert force_of(field) == pytest.approx(2.0 * before)


def test_reset_brings_back_the_first_step(root, stretched, run):
    """The same positions after reset and a step as after init and a step, bit for bit."""
    field = stretched(1.1, "NeoHookean")
    run(root, 1)
    first = field.state.position.array().copy()
    run(root, 5)
    simulation.reset(root)
    run(root, 1)
    assert (field.state.position.array() == first).all()


@pytest.mark.parametrize("dt", [1e-3, 5e-4])
@every_material
def test_a_swinging_body_only_loses_energy(material, dt, root, stretched, run):
    """Implicit Euler divides the energy E of a linear mode by 1 + (w dt)^2 in every step, so the
    loss up to t is w^2 dt t E, summed over modes f^2 / (2 m) dt t with the first forces f. At 10 %
    strain the materials are linear to some 10 %. The masses are 1 / 4."""
    root.dt = dt
    field = stretched(1.1, material)
    first = force_of(field)
    energies = [field.energy()]
    for _ in range(round(0.1 / dt)):
        run(root, 1)
        v = field.state.velocity.array()
        energies.append(field.energy() + 0.5 * 0.25 * np.vdot(v, v))
    assert (np.diff(energies) < 0.0).all()
    expected = np.vdot(first, first) / (2.0 * 0.25) * dt * 0.1
    assert energies[0] - energies[-1] == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("material", ["NeoHookean", "MooneyRivlin", "ArrudaBoyce"])
def test_an_element_turned_inside_out_ends_the_simulation(material, root, stretched, run):
    """ln J of J < 0: NaN, which the step reports."""
    field = stretched(1.0, material)
    field.state.position.value = TETRAHEDRON * [1.0, 1.0, -1.0]
    with pytest.raises(DivergedError, match="4 of 4 nodes are NaN .* look for inverted elements"):
        run(root, 1)


def test_a_stable_material_turns_back_what_is_inside_out(root, stretched, run):
    """StableNeoHookean has forces there, and they lead back to J > 0."""
    field = stretched(1.0, "StableNeoHookean", [300.0, 500.0])
    field.state.position.value = TETRAHEDRON * [1.0, 1.0, -0.1]
    run(root, 30)
    x = field.state.position.array()
    assert np.linalg.det(x[1:] - x[0]) > 0.5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"needs 2 numbers in ParameterSet for ArrudaBoyce, mu, k, or .*; got 0: \[\]"),
        (
            {"materialName": "Ogden", "ParameterSet": [1.0, 2.0, 3.0]},
            "does not support materialName 'Ogden'. It knows 'ArrudaBoyce', 'MooneyRivlin', 'Neo",
        ),
        ({"materialName": "Rubber"}, "takes one of .*'NeoHookean', 'Ogden'.* got 'Rubber'"),
        (
            {"materialName": "NeoHookean", "ParameterSet": [1.0]},
            r"needs 2 numbers in ParameterSet for NeoHookean, mu, lambda, or .* got 1: \[1.0\]",
        ),
        (
            {"materialName": "MooneyRivlin", "ParameterSet": [1.0, 2.0]},
            "for MooneyRivlin, c1, c2, k, or that many for each of its 1 elements; got 2",
        ),
        (
            {"materialName": "StVenantKirchhoff", "ParameterSet": [1.0, -0.7]},
            "without stiffness at rest .*mu, lambda = .*bulk modulus of -0.0333",
        ),
        (
            {"materialName": "MooneyRivlin", "ParameterSet": [1.0, -2.0, 3.0]},
            "a shear modulus of -2 and a bulk modulus of 3; neither may be negative",
        ),
        (
            {"materialName": "NeoHookean", "ParameterSet": [math.inf, 1.0]},
            "without stiffness at rest|not finite",
        ),
    ],
)
def test_a_material_that_is_none_is_an_error(values, message, elastic):
    with pytest.raises(SceneError, match=message):
        elastic(TETRAHEDRON, [[0, 1, 2, 3]], **values)


def test_a_flat_tetrahedron_is_an_error_that_names_it(elastic):
    points = np.vstack([TETRAHEDRON, [[1.0, 1.0, 0.0]]])
    with pytest.raises(SceneError, match=r"1 of 2 .* without volume, first tetrahedra\[1\] = \[0"):
        elastic(
            points, [[0, 1, 2, 3], [0, 1, 2, 4]], materialName="NeoHookean", ParameterSet=[1, 1]
        )  # fmt: skip


def test_a_vertex_that_is_not_there_is_an_error(root, integrated, run):
    node = integrated(root, "body", TETRAHEDRON[:3])
    node.addObject("MeshTopology", position=TETRAHEDRON.tolist(), tetrahedra=[[0, 1, 2, 3]])
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("TetrahedronHyperelasticityFEMForceField", materialName="NeoHookean")
    with pytest.raises(SceneError, match="a tetrahedron with vertex 3, but .* has 3 nodes"):
        run(root)


def test_a_surface_alone_is_an_error(root, integrated, run):
    node = integrated(root, "body", TETRAHEDRON)
    node.addObject("MeshTopology", triangles=[[0, 1, 2]])
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("TetrahedronHyperelasticityFEMForceField", materialName="NeoHookean")
    with pytest.raises(SceneError, match="finds no tetrahedra in .*A surface mesh is not enough"):
        run(root)


def test_no_topology_is_an_error(root, integrated, run):
    node = integrated(root, "body", TETRAHEDRON)
    node.addObject("UniformMass", totalMass=1.0)
    node.addObject("TetrahedronHyperelasticityFEMForceField", materialName="NeoHookean")
    with pytest.raises(SceneError, match="needs tetrahedra: add a TetrahedronSetTopologyContainer"):
        run(root)


@every_material
def test_derivatives_of_forces_and_of_a_step_are_those_of_differences(material, elastic):
    """Of two tetrahedra that share a face: the step's term is a difference of K itself, within some
    1e-10; 1e-6 is for the differences here."""
    points = np.vstack([TETRAHEDRON, np.ones(3)])
    elements = [[0, 1, 2, 3], [4, 1, 3, 2]]
    field = elastic(points, elements, materialName=material, ParameterSet=MATERIALS[material])
    check_force_field(field, scale=0.5, tolerance=1e-6)
