"""Mechanisms, drives and derivatives as arrays, for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Values(NamedTuple):
    """Numbers that may depend on parameters: constant + factor * rho[parameter]."""

    constant: np.ndarray
    """Constant parts, shape (n,)."""
    factor: np.ndarray
    """Factors of the parameters, shape (n,)."""
    parameter: np.ndarray
    """Indices of the parameters, -1 for none, shape (n,)."""


class Readings(NamedTuple):
    """Scalar functions of two frames: constraints, or readings."""

    kind: np.ndarray
    """POINT, DIRECTION or DISTANCE, shape (n_r,)."""
    one: np.ndarray
    """Joint of its first end, -1: the world, shape (n_r,)."""
    other: np.ndarray
    """Joint of its second end, -1: the world, shape (n_r,)."""
    at_one: np.ndarray
    """Point or direction in the axes of `one`, shape (n_r, 3)."""
    at_other: np.ndarray
    """Point or direction in the axes of `other`, shape (n_r, 3)."""
    along: np.ndarray
    """Direction in the world of a POINT row, shape (n_r, 3)."""
    target: Values
    """Value of a constraint; 0 for a reading, (n_r,)."""


class Tree(NamedTuple):
    """A mechanism as arrays, N joints of which n are coordinates, each after its parent."""

    parent: np.ndarray
    """-1: the world, shape (N,)."""
    coordinate: np.ndarray
    """Index in q, -1 for a joint that does not move, shape (N,)."""
    joint: np.ndarray
    """Joint of each coordinate, shape (n,)."""
    sliding: np.ndarray
    """Whether a joint slides along its axis; otherwise it turns, shape (N,)."""
    axis: np.ndarray
    """Unit vector in the joint's axes, shape (N, 3)."""
    turned: np.ndarray
    """Axes of the joint in the parent's axes, shape (N, 3, 3)."""
    moved: np.ndarray
    """Origin of the joint in the axes of its parent [m], shape (N, 3)."""
    rigid: Values
    """Coordinate of joints that do not move, (N,); 0 for the others."""
    body: np.ndarray
    """Joint that carries each mass, shape (n_b,)."""
    mass: Values
    """Masses [kg], (n_b,)."""
    center: np.ndarray
    """Centres of mass in the joint's axes [m], shape (n_b, 3)."""
    gyration: np.ndarray
    """Inertia about the centre for a mass of 1 [m^2], shape (n_b, 3, 3)."""
    spring: np.ndarray
    """Coordinate of each spring, shape (n_s,)."""
    stiffness: Values
    """Stiffnesses [N m / rad] or [N / m], (n_s,)."""
    rest: Values
    """Rest positions [rad] or [m], (n_s,)."""
    damper: np.ndarray
    """Coordinate of each damper, shape (n_d,)."""
    damping: Values
    """Damping coefficients [N m s / rad] or [N s / m], (n_d,)."""
    rubbing: np.ndarray
    """Coordinate of each friction, shape (n_f,)."""
    friction: Values
    """Coulomb friction [N m] or [N], (n_f,)."""
    creep: np.ndarray
    """Speeds above which friction is nearly constant [rad / s] or [m / s], shape (n_f,)."""
    rotor: np.ndarray
    """Coordinate of each armature, shape (n_a,)."""
    armature: Values
    """Inertias along coordinates [kg m^2] or [kg], (n_a,)."""
    closed: Readings
    """The constraints, n_h of them."""
    gravity: np.ndarray
    """Gravity [m / s^2], shape (3,)."""


POINT, DIRECTION, DISTANCE = 0, 1, 2
"""h = along . (x_one - x_other), d_one . d_other, |x_one - x_other|; minus the target."""


class Drive(NamedTuple):
    """External forces in K steps: F = gain_u u - gain (q[fed] - target), at midpoints."""

    gain_u: np.ndarray
    """Forces of the inputs, shape (n, n_u)."""
    u: np.ndarray
    """Inputs, shape (K, n_u)."""
    fed: np.ndarray
    """Coordinates with feedback, shape (m,)."""
    gain: np.ndarray
    """Feedback gains, shape (K, m, m), or (1, m, m) if constant."""
    target: np.ndarray
    """Targets of the feedback, shape (K, m)."""
    slope: np.ndarray
    """Derivatives of some signals by some parameters, shape (K, n_s)."""
    signal: np.ndarray
    """Signal of each: its index in u, then in target, shape (n_s,)."""
    parameter: np.ndarray
    """Parameter of each, shape (n_s,)."""
    share: float
    """Share of a step's force that acts at its end, F_d+: 1/2 is of second order, 0 the paper's."""


class Steering(NamedTuple):
    """Feedback of the state: u_k becomes u_k - gain_k ((q, p)_k - path_k), at each step's start."""

    gain: np.ndarray
    """Gains, shape (K, n_u, 2 n); (0, 0, 0): none."""
    path: np.ndarray
    """States from which deviations are counted, shape (K + 1, 2 n); (0, 0): none."""


class Frames(NamedTuple):
    """Frames of the joints in the world."""

    R: np.ndarray
    """Rotations of the joints' frames, shape (N, 3, 3)."""
    x: np.ndarray
    """Origins of the joints' frames [m], shape (N, 3)."""
    S: np.ndarray
    """Screw of each joint, shape (N, 6)."""


class Lagrangian(NamedTuple):
    """Derivatives of L = T - V by all joints; V includes gravity and springs."""

    q: np.ndarray
    """L_q, shape (N,)."""
    v: np.ndarray
    """L_v, shape (N,)."""
    qq: np.ndarray
    """L_qq, shape (N, N)."""
    qv: np.ndarray
    """L_qv, by q_row and v_column, shape (N, N)."""
    vv: np.ndarray
    """L_vv, the mass matrix, shape (N, N)."""
    q_rho: np.ndarray
    """L_q by parameters, except parameters of `rigid`, shape (N, n_rho)."""
    v_rho: np.ndarray
    """L_v by the same parameters, shape (N, n_rho)."""


class Linear(NamedTuple):
    """Derivatives of a step: of R = 0, the equations for (q_k+1, multipliers), and of p_k+1."""

    kkt: np.ndarray
    """R by (q_k+1, multipliers), shape (n + n_h, n + n_h)."""
    r_q: np.ndarray
    """Upper rows of R by q_k; by p_k they are 1, shape (n, n)."""
    r_rho: np.ndarray
    """R by parameters, shape (n + n_h, n_rho)."""
    p_next: np.ndarray
    """p_k+1 by q_k+1, shape (n, n)."""
    p_q: np.ndarray
    """p_k+1 by q_k, shape (n, n)."""
    p_rho: np.ndarray
    """p_k+1 by parameters, shape (n, n_rho)."""
