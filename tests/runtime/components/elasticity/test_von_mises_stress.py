"""computeVonMisesStress of TetrahedronFEMForceField."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sofa_softctl.errors import SceneError

E, NU, STRETCH = 1000.0, 0.3, 1e-3
TURN = Rotation.from_rotvec([0.4, -1.0, 0.7]).as_matrix()
UNIAXIAL = np.diag([1.0 + STRETCH, 1.0 - NU * STRETCH, 1.0 - NU * STRETCH])
POINTS = np.array([[0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 1], [3, 1, 1]], dtype=float)
ELEMENTS = [[0, 1, 2, 3], [4, 2, 1, 3]]


@pytest.fixture
def bar(root, integrated, run):
    """Makes a bar of two tetrahedra that is turned, and pulled along its x axis."""

    def make(kind="TetrahedronFEMForceField", **values):
        node = integrated(root, "body", POINTS @ (TURN @ UNIAXIAL).T)
        node.dofs.rest_position.value = POINTS
        node.addObject("MeshTopology", name="mesh", tetrahedra=ELEMENTS)
        node.addObject("UniformMass", totalMass=1.0)
        field = node.addObject(kind, youngModulus=E, poissonRatio=NU, **values)
        run(root)
        return field

    return make


@pytest.mark.parametrize("method", ["small", "large", "polar", "svd"])
def test_a_bar_that_is_pulled_has_the_stress_young_times_strain(bar, method):
    """Green's strain, e + e^2 / 2, does not depend on the method."""
    field = bar(method=method, computeVonMisesStress=2)
    expected = E * STRETCH * (1.0 + 0.5 * (1.0 - NU) * STRETCH)
    assert field.vonMisesPerElement.value == pytest.approx([expected] * 2, rel=1e-9)
    assert field.vonMisesPerNode.value == pytest.approx([expected] * 5, rel=1e-9)


def test_it_is_that_of_the_present_positions_and_moduli(bar):
    field = bar(computeVonMisesStress=2, localStiffnessFactor=[1.0, 3.0])
    first, second = field.vonMisesPerElement.value
    assert second == pytest.approx(3.0 * first)
    field.youngModulus.value = [2.0 * E]
    field.reinit()
    assert field.vonMisesPerElement.value[0] == pytest.approx(2.0 * first)
    assert field.vonMisesPerNode.value[0] == pytest.approx(2.0 * first)
    field.state.position.value = POINTS
    assert field.vonMisesPerElement.value.tolist() == [0.0, 0.0]


def test_nothing_is_computed_unless_asked_for(bar):
    field = bar()
    assert not len(field.vonMisesPerElement.value)
    field.computeVonMisesStress.value = 2
    assert len(field.vonMisesPerElement.value) == 2
    with pytest.raises(SceneError, match="computed by the component"):
        field.vonMisesPerElement.value = [1.0, 2.0]


def test_sofas_corotational_stress_is_doubted(bar, caplog):
    """It is E e only where an element's frame is the world's: here the first element's."""
    field = bar(computeVonMisesStress=1)
    assert "Take 2 for stresses of Green's strain" in caplog.text
    right, wrong = field.vonMisesPerElement.value
    assert right == pytest.approx(E * STRETCH, rel=1e-2)  # the frame of 'large' shears a little
    assert abs(wrong / (E * STRETCH) - 1.0) > 0.01


def test_frames_of_the_deformation_gradient_have_no_such_doubt(bar, caplog):
    field = bar("FastTetrahedralCorotationalForceField", method="polar", computeVonMisesStress=1)
    assert "Take 2" not in caplog.text
    assert field.vonMisesPerElement.value == pytest.approx([E * STRETCH] * 2, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"computeVonMisesStress": 3}, "needs computeVonMisesStress 0, 1 or 2, got 3"),
        ({"computeVonMisesStress": 1, "method": "small"}, "its method is 'small'"),
    ],
)
def test_options_that_sofa_cannot_compute_are_refused(bar, values, reason):
    with pytest.raises(SceneError, match=reason):
        bar(**values)
