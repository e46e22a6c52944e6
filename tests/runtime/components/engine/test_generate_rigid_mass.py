"""Mass, centre and inertia of what a surface encloses."""

import numpy as np
import pytest

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.engine.generate_rigid_mass import solid_of
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import warnings_as_errors
from sofa_softctl.runtime.simulation import simulation

SIDES = np.array([2.0, 3.0, 5.0])
CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = np.array(
    [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
)
BOX = np.diag([34.0, 29.0, 13.0]) / 12.0
"""(b^2 + c^2) / 12 about each axis."""


def add(root, shift=(0.0, 0.0, 0.0), **values):
    given = {"quads": QUADS, "position": CORNERS * SIDES + shift, "density": 0.5} | values
    engine = root.addObject("GenerateRigidMass", name="mass", **given)
    simulation.init(root)
    return engine


@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (100.0, -70.0, 30.0)])
@pytest.mark.parametrize("kind", ["quads", "triangles"])
def test_a_box_has_the_mass_and_inertia_of_the_textbook(root, shift, kind):
    """m (b^2 + c^2) / 12, wherever the box is; 1e-12: cancelling of the shift's square."""
    triangles = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])
    faces = {} if kind == "quads" else {"quads": np.empty((0, 4), int), "triangles": triangles}
    engine = add(root, shift, **faces)
    assert engine.volume.value == pytest.approx(30.0, rel=1e-12)
    assert engine.mass.value == pytest.approx(15.0, rel=1e-12)
    assert engine.massCenter.value == pytest.approx(SIDES / 2.0 + shift, rel=1e-12)
    assert (engine.centerToOrigin.value == -engine.massCenter.value).all()
    assert engine.inertiaMatrix.value == pytest.approx(BOX, abs=1e-12)


def test_how_a_surface_is_divided_changes_nothing(root):
    """One side as a fan of triangles, so that the mean of the corners is not the centre."""
    a, b, c, d = QUADS[1]
    way = np.linspace(0.0, 1.0, 6)[1:, None]
    more = CORNERS[a] + way * (CORNERS[b] - CORNERS[a])  # on an edge, up to its end
    fan = [[d, a, 8], *([d, 7 + k, 8 + k] for k in range(1, 5)), [d, 12, c]]
    faces = [t for k, (e, f, g, h) in enumerate(QUADS) if k != 1 for t in ([e, f, g], [e, g, h])]
    positions = np.concatenate([CORNERS, more]) * SIDES
    none = np.empty((0, 4), int)
    engine = add(root, position=positions, triangles=[*faces, *fan], quads=none)
    assert engine.massCenter.value == pytest.approx(SIDES / 2.0, rel=1e-12)
    assert engine.inertiaMatrix.value == pytest.approx(BOX, abs=1e-12)


def test_a_tetrahedron_has_sofas_numbers(root):
    """Printed by SOFA v25.06 for this surface."""
    points = [[0, 0, 0], [3, 0, 0], [0, 2, 0], [0.5, 0.3, 4]]
    faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
    engine = add(root, position=points, triangles=faces, quads=np.empty((0, 4), int), density=2.0)
    expected = [[0.738375, 0.093125, 0.075], [0.093125, 0.909375, 0.055], [0.075, 0.055, 0.44775]]
    assert engine.inertiaMatrix.value == pytest.approx(np.array(expected), abs=1e-12)
    assert engine.massCenter.value == pytest.approx([0.875, 0.575, 1.0], abs=1e-12)
    assert (engine.mass.value, engine.volume.value) == pytest.approx((8.0, 4.0), rel=1e-12)


def test_inertia_turns_with_the_body():
    """I -> R I R^T, also that of a surface without any symmetry."""
    random = np.random.default_rng(0)
    corners = (CORNERS * SIDES + 0.3 * random.uniform(size=(8, 3)))[
        np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])
    ]
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    volume, centre, inertia = solid_of(corners, np.zeros(3))
    volume_turned, centre_turned, inertia_turned = solid_of(corners @ turn.T, np.zeros(3))
    assert volume_turned == pytest.approx(volume, rel=1e-13)
    assert centre_turned == pytest.approx(turn @ centre, abs=1e-13)
    assert inertia_turned == pytest.approx(turn @ inertia @ turn.T, abs=1e-12)


def test_a_mass_takes_it_over_and_follows_the_density(root):
    add(root)
    node = root.addChild("body")
    node.addObject("EulerImplicitSolver")
    node.addObject("SparseLDLSolver")
    node.addObject("MechanicalObject", template="Rigid3")
    mass = node.addObject("UniformMass", vertexMass="@../mass.rigidMass")
    simulation.init(root)
    assert mass.totalMass.value == pytest.approx(15.0, rel=1e-12)
    assert mass.moments[0] == pytest.approx(15.0 * BOX, abs=1e-11)
    root.mass.density.value = 1.0
    assert root.mass.mass.value == pytest.approx(30.0, rel=1e-12)
    assert root.mass.rigidMass.value.split()[0] == repr(root.mass.mass.value).removesuffix(".0")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"quads": QUADS[:, ::-1]}, "finds the volume -30: .* wound counter-clockwise"),
        ({"quads": np.empty((0, 4), int)}, "needs 'triangles' or 'quads'"),
        ({"position": CORNERS[:5]}, "has 6, but there are 5 entries in 'position'"),
    ],
)
def test_a_surface_that_encloses_nothing_is_an_error(root, values, problem):
    with pytest.raises(SceneError, match=problem):
        add(root, **values)


def test_a_surface_with_holes_is_warned_of(root, monkeypatch):
    said = []
    monkeypatch.setattr(message, "warning", lambda emitter, text: said.append(text))
    add(root, quads=QUADS[:-1])
    assert len(said) == 1
    assert "has a surface with holes" in said[0]
    # SOFA integrates n_x x, and no side along x is missing
    assert root.mass.volume.value == pytest.approx(30.0)


def test_a_surface_of_no_volume_is_said_and_computes_nothing(root, caplog):
    with warnings_as_errors(False):
        engine = add(root, quads=np.concatenate([QUADS, QUADS[:, ::-1]]))
    assert "finds the volume 0" in caplog.text
    assert engine.mass.value == 0.0
