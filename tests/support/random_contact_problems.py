"""Random inverse problems with contacts: elastic and rigid bodies, dependent contacts.

Problem `k` of a seed is the same on every machine and however many are made. The kinds take
turns, so n problems of a seed have n / 6 of each.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from sofa_softctl.errors import ProblemError
from sofa_softctl.qpcc.problem.contacts import Contacts, Law, NormalSum
from sofa_softctl.qpcc.problem.problem import InverseProblem

KINDS = ("elastic", "mixed", "plate", "pushed box", "pinched box", "contradiction")
"""Kinds of problems, in the order in which they take turns."""


def kind_of(k: int) -> str:
    """Kind of problem number k."""
    return KINDS[k % len(KINDS)]


def random_contact_problem(seed: int, k: int, contacts: int = 6) -> InverseProblem:
    """Problem number k of a seed.

    - elastic: a chain of nodes pulled by cables, all contacts with the same friction.
    - mixed: the same with contacts with and without friction, sums of normal forces with bounds,
      any number of actuators and effectors, sometimes contacts that stick whatever it takes.
    - plate: a rigid plate on points of its rim, along the floor; its contacts depend on each other.
    - pushed box: a rigid box on the floor that fingertips push.
    - pinched box: a rigid box that fingertips hold against gravity, with a least normal force.
    - contradiction: elastic or plate, with limits of displacements that efforts can hardly satisfy.

    Args:
        seed: Number of the corpus.
        k: Number of the problem in it; its kind is `kind_of(k)`.
        contacts: Most contacts, at least 3.
    """
    if contacts < 3:
        raise ProblemError(f"contacts must be at least 3, for a plate to stand, got {contacts}.")
    rng = np.random.default_rng([seed, k])
    kind = kind_of(k)
    if kind == "plate":
        return _plate(rng, contacts)
    if kind == "pushed box":
        return _pushed_box(rng, contacts)
    if kind == "pinched box":
        return _pinched_box(rng, contacts)
    if kind == "contradiction":
        problem = _plate(rng, contacts) if rng.random() < 0.3 else _elastic(rng, contacts)
        return _contradicting(rng, problem)
    problem = _elastic(rng, contacts)
    return _mixed(rng, problem) if kind == "mixed" else problem


def _energy(rng: np.random.Generator) -> float:
    """A weight between 1e-6 and 1, and sometimes none."""
    return 0.0 if rng.random() < 0.1 else float(10.0 ** rng.uniform(-6.0, 0.0))


def _elastic(rng: np.random.Generator, contacts: int) -> InverseProblem:
    n_c = int(rng.integers(1, contacts + 1))
    return random_problem(
        rng,
        n_a=int(rng.integers(1, 6)),
        n_e=int(rng.integers(1, 5)),
        n_c=n_c,
        friction=float(rng.choice([0.1, 0.3, 0.6, 1.0])),
        energy=_energy(rng),
        pull=bool(rng.random() < 0.7),
        nodes=max(2, n_c // 2) if rng.random() < 0.2 else None,
    )


def _mixed(rng: np.random.Generator, problem: InverseProblem) -> InverseProblem:
    """Frictions of their own, some zero; sums of normal forces; other laws and limits."""
    c = problem.contacts
    assert c is not None
    friction = rng.choice([0.0, 0.0, 0.2, 0.5, 1.2], size=c.n_c)
    rows = np.concatenate(
        [np.arange(s, s + (3 if mu > 0.0 else 1)) for s, mu in zip(c.starts, friction, strict=True)]
    )
    sums: tuple[NormalSum, ...] = ()
    if rng.random() < 0.5:
        members = np.flatnonzero(rng.random(c.n_c) < 0.6)
        if len(members):
            least = float(rng.uniform(0.1, 0.8))
            most = least + float(rng.uniform(0.0, 1.0)) if rng.random() < 0.4 else math.inf
            sums = (NormalSum("object", members, least, most),)
    chosen = Contacts(
        W_ec=c.W_ec[:, rows],
        W_ac=c.W_ac[:, rows],
        W_cc=c.W_cc[np.ix_(rows, rows)],
        delta_c_free=c.delta_c_free[rows],
        friction=friction,
        sums=sums,
        law=Law("sticking" if rng.random() < 0.15 else "coulomb"),
    )
    return replace(problem, contacts=chosen, **_limits(rng, problem))


def _limits(rng: np.random.Generator, problem: InverseProblem) -> dict[str, Any]:
    """Limits of all kinds, some tight, in proportion to what efforts of about one bring about."""
    n_a, reach = problem.n_a, problem.W_aa.diagonal()
    limits: dict[str, Any] = {
        "effort_min": np.full(n_a, 0.0 if rng.random() < 0.5 else -2.0),
        "effort_max": rng.uniform(0.5, 4.0, n_a) if rng.random() < 0.6 else np.full(n_a, np.inf),
        "displacement_min": np.full(n_a, -np.inf),
        "displacement_max": np.full(n_a, np.inf),
    }
    if rng.random() < 0.4:
        limits["displacement_max"] = rng.uniform(0.1, 1.5, n_a) * reach
        limits["displacement_min"] = -rng.uniform(0.1, 1.5, n_a) * reach
    if rng.random() < 0.2:
        limits["effort_previous"] = np.clip(
            rng.normal(size=n_a), limits["effort_min"], limits["effort_max"]
        )
        limits["effort_rate"] = rng.uniform(0.2, 1.0, n_a)
    return limits


def _contradicting(rng: np.random.Generator, problem: InverseProblem) -> InverseProblem:
    """Displacements that the bounded efforts reach barely, or not."""
    n_a, reach = problem.n_a, problem.W_aa.diagonal()
    most = rng.uniform(0.2, 1.5, n_a)
    asked = rng.random(n_a) < 0.6
    asked[rng.integers(n_a)] = True
    low = np.where(asked, rng.uniform(0.6, 1.4, n_a) * most * reach, -np.inf)
    return replace(
        problem,
        effort_min=np.zeros(n_a),
        effort_max=most,
        displacement_min=low,
        displacement_max=np.where(asked, low + 0.3 * reach, np.inf),
    )


def _plate(rng: np.random.Generator, contacts: int) -> InverseProblem:
    """A plate of size 1 on points of its rim; forces or cables at its sides."""
    n_c, n_a = int(rng.integers(3, contacts + 1)), int(rng.integers(1, 4))
    M = _inertia(rng)
    angles = 2 * np.pi * (np.arange(n_c) + rng.uniform(-0.2, 0.2, n_c)) / n_c
    H_c = np.zeros((3 * n_c, 6))
    for c, angle in enumerate(angles):
        point = np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), -0.05])
        H_c[3 * c : 3 * c + 3] = _frame(rng) @ _at(point)
    H_a = np.array([_pull(rng) for _ in range(n_a)])
    H_e = np.eye(6)[[0, 1, 5][: int(rng.integers(1, 4))]]
    fall = np.array([*rng.normal(size=2) * 0.02, -rng.uniform(0.1, 0.5), 0.0, 0.0, 0.0])
    return _assembled(
        rng, np.linalg.inv(M), H_e, H_a, H_c, fall, np.full(n_c, rng.choice([0.1, 0.3, 0.6, 1.0]))
    )


def _pushed_box(rng: np.random.Generator, contacts: int) -> InverseProblem:
    """A box on three or four points of the floor, and fingertips at its side."""
    tips = 1 if contacts < 5 else int(rng.integers(1, 3))
    floor = min(4, contacts - tips)
    return with_fingertips(rng, floor, tips, pinched=False)


def _pinched_box(rng: np.random.Generator, contacts: int) -> InverseProblem:
    """A box in the air between fingertips, whose normal forces have a least sum."""
    return with_fingertips(rng, 0, int(rng.integers(2, min(4, contacts) + 1)), pinched=True)


def with_fingertips(
    rng: np.random.Generator, floor: int, tips: int, *, pinched: bool
) -> InverseProblem:
    """A box of size 1, and fingertips on springs with two actuators each."""
    n = 6 + 3 * tips
    A = np.zeros((n, n))
    A[:6, :6] = _inertia(rng)
    stiffness = rng.uniform(0.5, 5.0, tips)
    for f in range(tips):
        at = 6 + 3 * f
        A[at : at + 3, at : at + 3] = stiffness[f] * np.eye(3)
    rows, friction = [], []
    for c in range(floor):
        angle = np.pi / 4 + 2 * np.pi * c / floor
        point = np.array([0.6 * np.cos(angle), 0.6 * np.sin(angle), -0.5])
        rows.append(np.concatenate((_frame(rng) @ _at(point), np.zeros((3, n - 6))), axis=1))
        friction.append(0.4)
    H_a = np.zeros((2 * tips, n))
    for f in range(tips):
        angle = 2 * np.pi * f / tips if pinched else rng.uniform(-0.3, 0.3)
        out = np.array([-np.cos(angle), -np.sin(angle), 0.0])  # from the box to the fingertip
        point = 0.5 * out + np.array([0.0, 0.0, rng.uniform(-0.2, 0.2)])
        frame = np.stack((-out, np.array([-out[1], out[0], 0.0]), np.array([0.0, 0.0, 1.0])))
        row = np.zeros((3, n))
        row[:, :6] = frame @ _at(point)
        row[:, 6 + 3 * f : 9 + 3 * f] = -frame
        rows.append(row)
        friction.append(float(rng.choice([0.3, 0.6, 1.0])))
        H_a[2 * f, 6 + 3 * f : 9 + 3 * f] = -out
        H_a[2 * f + 1, 6 + 3 * f : 9 + 3 * f] = frame[2]
    if not pinched:
        H_a = H_a[::2]
    H_e = np.eye(n)[[0, 1, 2, 5]][: int(rng.integers(1, 5))]
    fall = np.zeros(n)
    fall[2] = -rng.uniform(0.02, 0.1) if pinched else -rng.uniform(0.1, 0.5)
    problem = _assembled(rng, np.linalg.inv(A), H_e, H_a, np.concatenate(rows), fall, friction)
    bodies = ["floor"] * floor + [f"fingertip {f}" for f in range(tips)]
    sums: tuple[NormalSum, ...] = ()
    if pinched:
        sums = (NormalSum("box", np.arange(tips), float(rng.uniform(0.2, 1.5))),)
    assert problem.contacts is not None
    return replace(problem, contacts=replace(problem.contacts, pairs=bodies, sums=sums))


def _inertia(rng: np.random.Generator) -> np.ndarray:
    """Mass matrix of a rigid body of size 1 [effort / displacement], shape (6, 6)."""
    mass = rng.uniform(0.5, 2.0)
    return np.diag([mass] * 3 + [0.17 * mass] * 3)


def _at(point: np.ndarray) -> np.ndarray:
    """Motion of a point of a rigid body over its motion, shape (3, 6)."""
    x, y, z = point
    turn = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    return np.concatenate((np.eye(3), turn), axis=1)


def _frame(rng: np.random.Generator) -> np.ndarray:
    """Upward normal and two tangents, turned at random, shape (3, 3)."""
    angle = rng.uniform(0.0, 2 * np.pi)
    p, q = np.cos(angle), np.sin(angle)
    return np.array([[0.0, 0.0, 1.0], [p, q, 0.0], [-q, p, 0.0]])


def _pull(rng: np.random.Generator) -> np.ndarray:
    """A force on the rim of a plate, outwards and a little up or down, shape (6,)."""
    angle = rng.uniform(0.0, 2 * np.pi)
    point = np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0])
    force = np.array([np.cos(angle + rng.normal() * 0.5), np.sin(angle), rng.normal() * 0.2])
    row: np.ndarray = force / np.linalg.norm(force) @ _at(point)
    return row


def _assembled(
    rng: np.random.Generator,
    inverse: np.ndarray,
    H_e: np.ndarray,
    H_a: np.ndarray,
    H_c: np.ndarray,
    fall: np.ndarray,
    friction: Any,
) -> InverseProblem:
    """The problem of a body with the inverse of its matrix A, and its free motion."""
    H = np.concatenate((H_e, H_a, H_c))
    W = H @ inverse @ H.T
    n_e, n_a = len(H_e), len(H_a)
    e, a, r = slice(0, n_e), slice(n_e, n_e + n_a), slice(n_e + n_a, None)
    free = H_c @ fall
    free[::3] += np.where(rng.random(len(free[::3])) < 0.2, rng.uniform(0.0, 0.05), 0.0)
    goal = rng.normal(size=n_e) * rng.choice([0.02, 0.2])
    contacts = Contacts(
        W_ec=W[e, r],
        W_ac=W[a, r],
        W_cc=0.5 * (W[r, r] + W[r, r].T),
        delta_c_free=free,
        friction=np.asarray(friction, dtype=float),
    )
    problem = InverseProblem(
        W_ea=W[e, a],
        W_aa=0.5 * (W[a, a] + W[a, a].T),
        delta_e_free=H_e @ fall - goal,
        delta_a_free=H_a @ fall,
        energy=_energy(rng),
        contacts=contacts,
    )
    return replace(problem, **_limits(rng, problem)) if rng.random() < 0.6 else problem


def random_problem(
    rng: np.random.Generator,
    *,
    n_a: int = 4,
    n_e: int = 3,
    n_c: int = 3,
    friction: float = 0.6,
    law: Law | None = None,
    energy: float = 1e-3,
    pull: bool = True,
    nodes: int | None = None,
) -> InverseProblem:
    """A problem whose compliances are those of an elastic body, W = H A^-1 H^T.

    The body is a chain of nodes held softly in place, with random links. Each contact is a random
    frame at a node of its own, as far as there are nodes; each actuator pulls nodes in random
    directions; the effectors are coordinates of nodes. The free motion brings about half of the
    contacts into interpenetration.

    Args:
        rng: Source of randomness.
        n_a: Number of actuators.
        n_e: Number of effector rows.
        n_c: Number of contacts.
        friction: Coefficient of friction of the contacts; 0 gives contacts of one row.
        law: What contacts may do.
        energy: Weight of the energy term.
        pull: Whether actuators are cables: effort at least zero, and of a limited displacement.
        nodes: Number of nodes of the body. Fewer nodes than contacts make contacts that depend on
            each other.
    """
    nodes = nodes or n_c + n_a + 2
    n = 3 * nodes
    A = np.kron(_links(rng, nodes), np.eye(3)) + 0.1 * np.eye(n)
    H_a = rng.normal(size=(n_a, n)) * (rng.random((n_a, n)) < 0.4)
    H_a[np.arange(n_a), rng.integers(n, size=n_a)] += 1.0
    H_e = np.eye(n)[rng.choice(n, n_e, replace=n_e > n)]
    rows = 3 if friction > 0.0 else 1
    H_c = np.zeros((rows * n_c, n))
    order = rng.permutation(nodes)
    for c in range(n_c):
        node = order[c % nodes]
        frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        H_c[rows * c : rows * (c + 1), 3 * node : 3 * node + 3] = frame[:rows]
    H = np.concatenate((H_e, H_a, H_c))
    W = H @ np.linalg.solve(A, H.T)
    e, a, r = slice(0, n_e), slice(n_e, n_e + n_a), slice(n_e + n_a, None)
    free = H_c @ rng.normal(size=n) * 0.5
    contacts = Contacts(
        W_ec=W[e, r],
        W_ac=W[a, r],
        W_cc=0.5 * (W[r, r] + W[r, r].T),
        delta_c_free=free,
        friction=np.full(n_c, friction),
        law=law or Law(),
    )
    limits: dict[str, Any] = {}
    if pull:
        limits = {"effort_min": 0.0, "displacement_max": rng.uniform(1.0, 4.0, n_a)}
    return InverseProblem(
        W_ea=W[e, a],
        W_aa=0.5 * (W[a, a] + W[a, a].T),
        delta_e_free=rng.normal(size=n_e),
        delta_a_free=np.zeros(n_a),
        energy=energy,
        contacts=contacts,
        **limits,
    )


def _links(rng: np.random.Generator, nodes: int) -> np.ndarray:
    """Graph Laplacian of a chain with some random links, shape (nodes, nodes)."""
    L = np.zeros((nodes, nodes))
    pairs = [(i, i + 1) for i in range(nodes - 1)]
    pairs += [tuple(rng.choice(nodes, 2, replace=False)) for _ in range(nodes // 2)]
    for i, j in pairs:
        stiffness = rng.uniform(0.5, 2.0)
        L[[i, j], [i, j]] += stiffness
        L[[i, j], [j, i]] -= stiffness
    return L
