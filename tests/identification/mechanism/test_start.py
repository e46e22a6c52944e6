"""Starts: on the constraints, and in equilibrium."""

import math

import numpy as np
import pytest

from sofa_softctl.errors import SimulationError
from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import Body, Joint, Pin, Spring
from sofa_softctl.identification.mechanism.start import (
    Start,
    project,
    project_start,
    settle,
    violation,
)
from sofa_softctl.identification.model.parameter import Parameter

G = 9.81


def beam():
    """A level rod on a spring: k q = m g l cos q."""
    return Mechanism(
        [Joint("q", axis=(0, 1, 0))],
        [Body("q", "m", (0.5, 0, 0))],
        [Spring("q", "k")],
        parameters=(Parameter("m", 0.3), Parameter("k", 2.0)),
    )


def test_a_level_rod_sags_until_its_spring_holds_it():
    found = settle(beam(), np.array([0.3, 2.0]), np.zeros(1))
    q = found.start.q[0]
    assert 2.0 * q == pytest.approx(0.3 * G * 0.5 * math.cos(q), rel=1e-12)
    slope = 2.0 + 0.3 * G * 0.5 * math.sin(q)
    np.testing.assert_allclose(
        found.start.q_rho[0], [G * 0.5 * math.cos(q) / slope, -q / slope], rtol=1e-10
    )


def test_equilibria_of_closed_loops_have_exact_derivatives(tree):
    rho = np.array([one.start for one in tree.parameters])
    rho[1] = 40.0  # stiff enough that gravity leaves one equilibrium near the guess
    held = ("a", "c")
    guess = np.zeros(5)
    guess[0] = 0.3
    found = settle(tree, rho, guess, held)
    assert np.abs(violation(tree, rho, found.start.q)).max() < 1e-12
    for k in range(6):
        e = 1e-5 * max(1.0, rho[k]) * np.eye(6)[k]
        ends = [settle(tree, rho + s * e, found.start.q, held).start.q for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2.0 * e[k])
        np.testing.assert_allclose(found.start.q_rho[:, k], slope, rtol=1e-6, atol=1e-8)
    for column, name in enumerate(held):
        e = 1e-5 * np.eye(5)[tree.coordinate(name)]
        ends = [settle(tree, rho, found.start.q + s * e, held).start.q for s in (1, -1)]
        slope = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(found.q_held[:, column], slope, rtol=1e-6, atol=1e-8)


def test_projection_tells_how_far_it_went():
    slide = Mechanism(
        [Joint("x", axis=(1, 0, 0), sliding=True), Joint("y", "x", (0, 1, 0), sliding=True)],
        [Body("y", 1.0)],
        constraints=[Pin("y", at_other=(0.3, 0.4, 0.0))],
    )
    q, distance = project(slide, np.zeros(0), np.zeros(2))
    np.testing.assert_allclose(q, [0.3, 0.4], atol=1e-12)
    assert distance == pytest.approx(0.5)


def test_a_start_that_is_moved_onto_constraints_takes_its_derivatives_along(tree):
    """The nearest point, whose derivatives are those of central differences of projections."""
    rho, n = np.array([one.start for one in tree.parameters]), 5
    rng = np.random.default_rng(5)
    q, q_rho = rng.normal(size=n), rng.normal(size=(n, 6))

    def moved(change):
        given = Start(q + q_rho @ change, np.zeros(n), q_rho, np.zeros((n, 6)))
        return project_start(tree, rho + change, given)

    found, distance = moved(np.zeros(6))
    assert distance > 0.1
    assert np.abs(violation(tree, rho, found.q)).max() < 1e-10
    for k in range(6):
        e = 1e-5 * np.eye(6)[k]
        slope = (moved(e)[0].q - moved(-e)[0].q) / 2e-5
        np.testing.assert_allclose(found.q_rho[:, k], slope, rtol=1e-5, atol=1e-7)
    for _ in range(20):  # nearest: no other one on the constraints is closer
        other, _ = project(tree, rho, found.q + 0.01 * rng.normal(size=n))
        assert np.linalg.norm(other - q) >= distance - 1e-9


def test_a_loop_that_cannot_close_is_said():
    short = Mechanism(
        [Joint("q", axis=(0, 1, 0))],
        [Body("q", 1.0, (0.5, 0, 0))],
        constraints=[Pin("q", (1, 0, 0), at_other=(3.0, 0.0, 0.0))],
    )
    with pytest.raises(SimulationError, match="violation is 2 "):
        project(short, np.zeros(0), np.array([0.1]))


def test_what_nothing_holds_has_no_equilibrium():
    fall = Mechanism([Joint("z", sliding=True)], [Body("z", 1.0)])
    with pytest.raises(SimulationError, match="balance every joint"):
        settle(fall, np.zeros(0), np.zeros(1))
