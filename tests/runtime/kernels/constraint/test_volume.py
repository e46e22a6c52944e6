import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sofa_softctl.runtime.kernels.constraint.volume import enclosed_volume, volume_gradient
from sofa_softctl.testing import check_jacobian

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = np.array(
    [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
)
TRIANGLES = np.array([part for a, b, c, d in QUADS for part in ([a, b, c], [a, c, d])])
NO_TRIANGLES, NO_QUADS = np.empty((0, 3), np.int64), np.empty((0, 4), np.int64)


def shaken(seed, size=0.2):
    """The unit cube's corners, each moved at random."""
    return CORNERS + size * np.random.default_rng(seed).uniform(-1.0, 1.0, CORNERS.shape)


def gradient(x, triangles=NO_TRIANGLES, quads=NO_QUADS, sign=1.0):
    directions = np.full((len(x), 3), 99.0)
    volume_gradient(x, np.arange(len(x)), triangles, quads, sign, directions)
    return directions


@pytest.mark.parametrize("elements", [(TRIANGLES, NO_QUADS), (NO_TRIANGLES, QUADS)])
@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_the_volume_follows_an_affine_map(elements, seed):
    """V = |det A|, wherever the body is, and with the sign of the winding: rounding only."""
    random = np.random.default_rng(seed)
    A, b = random.uniform(-1.0, 1.0, (3, 3)), random.uniform(-10.0, 10.0, 3)
    x = CORNERS @ A.T + b
    assert enclosed_volume(CORNERS, *elements) == pytest.approx(1.0, rel=1e-15)
    assert enclosed_volume(x, *elements) == pytest.approx(np.linalg.det(A), abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_the_row_of_triangles_is_the_gradient_of_the_volume(seed):
    """The volume is linear in each coordinate, so that central differences have no error but
    rounding, with steps of a hundredth 4 eps / 0.01 = 1e-13."""
    x = shaken(seed)
    found = gradient(x, TRIANGLES)
    check_jacobian(
        lambda x: enclosed_volume(x, TRIANGLES, NO_QUADS), found, x, scale=14.0, tolerance=1e-12
    )


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_the_row_of_parallelograms_is_the_gradient_along_affine_motions(seed):
    """For x' = B x: V' = V tr B. Quads share their area equally, so single nodes differ."""
    B = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, 3))
    rate = np.vdot(gradient(CORNERS, quads=QUADS), CORNERS @ B.T)
    assert rate == pytest.approx(np.trace(B), abs=1e-14)


@pytest.mark.parametrize("elements", [{"triangles": TRIANGLES}, {"quads": QUADS}])
def test_a_pressure_inside_pushes_the_body_nowhere(elements):
    """The areas of a closed surface add up to zero, also of warped quads: no resultant."""
    found = gradient(shaken(3), **elements)
    assert found.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    assert np.abs(found).max() > 0.1


def test_triangles_and_quads_close_one_surface_together():
    """Half the cube's sides of each kind: volume and resultant as for one kind."""
    x = shaken(4)
    mixed = {"triangles": TRIANGLES[:6], "quads": QUADS[3:]}
    whole = enclosed_volume(x, TRIANGLES, NO_QUADS)
    assert enclosed_volume(x, mixed["triangles"], mixed["quads"]) == pytest.approx(whole, rel=1e-14)
    assert gradient(x, **mixed).sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)


def test_flipped_normals_turn_the_row_round():
    assert (gradient(CORNERS, TRIANGLES, sign=-1.0) == -gradient(CORNERS, TRIANGLES)).all()


def test_nodes_off_the_surface_take_no_part():
    """The directions belong to the nodes named, in their order."""
    x = np.vstack([[[50.0, 50.0, 50.0]], CORNERS[::-1]])
    nodes = np.arange(8, 0, -1)
    directions = np.empty((8, 3))
    volume_gradient(x, nodes, TRIANGLES, NO_QUADS, 1.0, directions)
    assert directions == pytest.approx(gradient(CORNERS, TRIANGLES), abs=1e-16)
