import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.runtime.components.elasticity.energies import ENERGIES
from sofa_softctl.runtime.components.elasticity.strain_point_field import element_stresses
from sofa_softctl.runtime.components.elasticity.strain_points import element_points
from sofa_softctl.runtime.kernels.elasticity import corotational
from sofa_softctl.runtime.kernels.elasticity import von_mises as stresses

E, NU = 1000.0, 0.3
LAM, MU = E * NU / ((1.0 + NU) * (1.0 - 2.0 * NU)), 0.5 * E / (1.0 + NU)
LAME = np.array([[LAM, MU]])
STRETCH = 1e-3
UNIAXIAL = np.diag([1.0 + STRETCH, 1.0 - NU * STRETCH, 1.0 - NU * STRETCH])
SHEAR = np.eye(3) + 0.5e-3 * np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
TURN = Rotation.from_rotvec([0.4, -1.0, 0.7]).as_matrix()


def corotational_of(F, R):
    strain = stresses.corotational_strain(F[None], R[None])
    return float(stresses.von_mises(stresses.linear_stress(strain, LAME))[0])


def green_of(F):
    return float(
        stresses.von_mises(stresses.linear_stress(stresses.green_strain(F[None]), LAME))[0]
    )


@pytest.mark.parametrize("turn", [np.eye(3), TURN])
def test_a_bar_that_is_pulled_has_the_stress_young_times_strain(turn):
    """Corotational: exact, however it is turned. Green: strains e + e^2 / 2, along and across."""
    assert corotational_of(turn @ UNIAXIAL, turn) == pytest.approx(E * STRETCH, rel=1e-12)
    along, across = (e + 0.5 * e * e for e in (STRETCH, -NU * STRETCH))
    expected = 2.0 * MU * (along - across)
    assert green_of(turn @ UNIAXIAL) == pytest.approx(expected, rel=1e-12)


def test_pure_shear_has_root_three_times_the_shear_stress():
    expected = np.sqrt(3.0) * MU * 1e-3
    assert corotational_of(SHEAR, np.eye(3)) == pytest.approx(expected, rel=1e-12)
    assert green_of(SHEAR) == pytest.approx(expected, rel=1e-3)  # (F^T F - I) / 2: + O(gamma^2)


def test_a_body_that_only_grows_or_turns_has_none():
    assert corotational_of(1.2 * TURN, TURN) == pytest.approx(0.0, abs=1e-10)
    assert green_of(1.2 * TURN) == pytest.approx(0.0, abs=1e-10)
    assert green_of(TURN) == pytest.approx(0.0, abs=1e-10)


def test_sofas_corotational_strain_is_right_in_the_frame_of_the_world_alone():
    F, R = UNIAXIAL[None], np.eye(3)[None]
    right = stresses.corotational_strain(F, R)
    assert stresses.sofa_corotational_strain(F, R, np.eye(3)[None]) == pytest.approx(right)
    turned = stresses.sofa_corotational_strain(F, R, TURN[None])
    found = float(stresses.von_mises(stresses.linear_stress(turned, LAME))[0])
    assert abs(found / (E * STRETCH) - 1.0) > 0.05


@pytest.mark.parametrize("stretch", [1.001, 1.5])
def test_a_neo_hookean_bar_has_the_difference_of_its_principal_stresses(stretch):
    """sigma_i = (mu (l_i^2 - 1) + lambda ln J) / J: the difference is mu (l1^2 - l2^2) / J."""
    across = 1.0 / np.sqrt(stretch)
    x0 = np.vstack([np.zeros(3), np.eye(3)])
    elements = np.array([[0, 1, 2, 3]])
    gradients, volumes = corotational.shape_gradients(x0, elements)
    x = x0 @ (TURN @ np.diag([stretch, across, across])).T
    points = element_points(gradients, volumes, elements)
    F = points.gradients_of(x)
    assert F == pytest.approx(stresses.deformation_gradients(x, elements, gradients))
    state = ENERGIES["NeoHookean"].at(F, np.array([[MU, LAM]]) / 6.0)
    found = stresses.von_mises(element_stresses(points, state))
    assert found == pytest.approx(MU * (stretch**2 - across**2), rel=1e-9)
    assert volumes == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize(
    ("law", "parameters"),
    [
        ("Corotational", [MU, LAM]),
        ("StVenantKirchhoff", [MU, LAM]),
        ("StableNeoHookean", [MU, LAM]),
        ("MooneyRivlin", [0.2 * MU, 0.3 * MU, LAM + 2.0 / 3.0 * MU]),
    ],
)
def test_every_strain_energy_is_linear_elasticity_for_small_strains(law, parameters):
    x0 = np.vstack([np.zeros(3), np.eye(3)])
    elements = np.array([[0, 1, 2, 3]])
    gradients, _ = corotational.shape_gradients(x0, elements)
    points = element_points(gradients, np.ones(1), elements)
    strain = 1e-6
    x = x0 @ (TURN @ (np.eye(3) + strain * np.diag([1.0, -NU, -NU]))).T
    state = ENERGIES[law].at(points.gradients_of(x), np.array([parameters]))
    stress = stresses.von_mises(element_stresses(points, state))
    assert stress == pytest.approx(
        E * strain, rel=1e-4
    )  # terms of the next order in 1e-6, / 1 % nu


def test_a_node_has_the_mean_of_the_elements_around_it():
    elements = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    found = stresses.mean_at_nodes(np.array([1.0, 3.0]), elements, 6)
    assert found.tolist() == [1.0, 2.0, 2.0, 2.0, 3.0, 0.0]
