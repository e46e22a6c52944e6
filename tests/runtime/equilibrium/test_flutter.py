"""Flutter number: Euler's load, and what steps of the scene do below and above it."""

from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.scene.copies.equilibrium import equilibrium_map, flutter_number
from sofa_softctl.scene.graph.nodes import state_at
from sofa_softctl.scene.session.session import Session
from sofa_softctl.surrogate.scene.replay import lines_of

ARM = Path(__file__).parents[3] / "scenes" / "laser_arm.py"
FORCE = 4000.0


@pytest.fixture(scope="module")
def arm():
    return equilibrium_map(ARM, scale=FORCE, points=["/arm/beam"])


def number_at(arm, u):
    u = np.array(u, float)
    return flutter_number(arm, u, arm(u).x)


def test_it_is_the_load_over_eulers_for_a_straight_arm(arm):
    """All four lines together compress the arm, which does not bend. Without their hold it would
    buckle at 2.47 EI / L^2: E of the material, I of the square of 20 mm. Its weight, 0.42 of that,
    pulls it straight (0.3 of it counts), and linear tetrahedra, four across, are a sixth too stiff:
    1 / (1.13 * 1.17) = 0.76 of the share, and 10 % for shear and the ends without lines."""
    young, inertia, length = 300.0, 20.0**4 / 12.0, 100.0
    euler = np.pi**2 / 4.0 * young * inertia / length**2
    for share in (0.2, 0.5, 1.0):
        u = np.full(4, share * euler / FORCE / 4.0)
        assert number_at(arm, u) == pytest.approx(0.76 * share, rel=0.1)


def test_it_is_zero_without_tension(arm):
    assert number_at(arm, np.zeros(4)) == 0.0


def test_damping_by_the_mass_counts_over_the_step_and_the_damping_by_stiffness(arm):
    """Beside the stiffness a step of length dt has rayleighMass / (dt + rayleighStiffness) M."""
    u, ode = np.full(4, 0.2), arm.system.solver
    free = number_at(arm, u)

    def damped(mass, stiffness):
        ode.rayleighMass.set(mass)
        ode.rayleighStiffness.set(stiffness)
        try:
            return number_at(arm, u)
        finally:
            ode.rayleighMass.set(0.0)
            ode.rayleighStiffness.set(0.0)

    assert arm.dt == 0.01
    slow = damped(2.0, 0.0)
    assert slow < 0.9 * free
    assert damped(6.0, 0.02) == pytest.approx(slow, rel=1e-9)
    assert damped(0.0, 0.02) == pytest.approx(free, rel=1e-9)


@pytest.mark.parametrize(("pull", "grows"), [(0.1, False), (0.14, False), (0.25, True)])
def test_swings_of_the_scenes_own_steps_decay_below_one_and_grow_above(arm, pull, grows):
    """Swings after one second of pulling up, and a second later; the number is 0.6, 0.9, 1.5."""
    u = np.array([pull, pull, 0.0, 0.0])
    number = number_at(arm, u)
    assert (number > 1.4) if grows else (number < 1.0)
    session = Session(ARM)
    tip, found = state_at(session.root, "/arm/beam"), []
    for step in range(250):
        for line, each in zip(lines_of(session.root), u, strict=True):
            line.value.value = [0.01 * FORCE * each * min(1.0, 0.01 * step)]
        session.step()
        found.append(tip.position.value[0].copy())
    early, late = (np.ptp(found[k : k + 50], axis=0).max() for k in (100, 200))
    assert (late > 2.0 * early) if grows else (late < 0.5 * early)
