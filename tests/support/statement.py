"""An inverse problem with contacts as matrices, for enumeration and verification."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sofa_softctl.qpcc.pieces.mechanics import Mechanics, build_mechanics
from sofa_softctl.qpcc.problem.problem import InverseProblem
from tests.support.mode_rows import EnumerationProblem


class Soft(NamedTuple):
    """Limits that may be exceeded if nothing satisfies them all: low <= R x <= high.

    In units of energy, so that excesses of all kinds can be added.
    """

    labels: list[str]
    """What is limited: "effort rate 2", "displacement bounds 0", "sum 1"."""
    R: np.ndarray
    """Over efforts and contact forces, shape (k, n_a + n_r)."""
    low: np.ndarray
    """Shape (k,)."""
    high: np.ndarray
    """Shape (k,)."""


@dataclass(frozen=True, eq=False)
class Stated:
    """The matrices of a problem, and the way back."""

    mechanics: Mechanics
    """The mechanics in units of energy."""
    statement: EnumerationProblem
    """What the kernels take."""
    soft: Soft
    """The soft limits."""
    length: float
    """sqrt(energy) of a unit of x."""
    weight: float
    """Objective of a unit of the statement's."""
    constant: float
    """Objective at x = 0 in units of the statement."""
    floor: float
    """Objectives below this are as good as zero, in units of the statement."""

    def answer(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Efforts [effort], contact forces [effort] and objective [displacement^2] of x."""
        m = self.mechanics
        n_a, n_r = m.W_ac.shape
        effort, force = self.length * x[:n_a], self.length * x[n_a : n_a + n_r]
        return effort * m.a_unit, force * m.c_unit, m.objective(effort, force)

    def value(self, value: float) -> float:
        """A value of the statement's objective in the problem's units."""
        return (value + self.constant) * self.weight

    def excess(self, x: np.ndarray) -> float:
        """Violation of the limits by x, in units of x."""
        st = self.statement
        return float((st.G @ x - st.h).max(initial=0.0))


def effort_limits(problem: InverseProblem) -> tuple[np.ndarray, np.ndarray]:
    """Hard limits of the efforts [effort]: the bounds, and imposed efforts within them."""
    low, high = np.array(problem.effort_min), np.array(problem.effort_max)
    fixed = ~np.isnan(problem.effort_fixed)
    value = np.clip(problem.effort_fixed, low, high)
    low[fixed], high[fixed] = value[fixed], value[fixed]
    return low, high


def soft_limits(m: Mechanics) -> Soft:
    """All limits but the hard ones, in units of energy."""
    p, (n_a, n_r) = m.problem, m.W_ac.shape
    eye, D = np.eye(n_a, n_a + n_r), np.concatenate((m.W_aa, m.W_ac), axis=1)
    d = p.delta_a_free * m.a_unit
    parts: list[tuple[str, np.ndarray, float, float]] = []
    for name, matrix, offset, unit in (
        ("effort", eye, np.zeros(n_a), 1.0 / m.a_unit),
        ("displacement", D, d, m.a_unit),
    ):
        previous, rate = getattr(p, f"{name}_previous"), getattr(p, f"{name}_rate")
        fixed = getattr(p, f"{name}_fixed")
        wanted = {
            "rate": (previous - rate, previous + rate),
            "imposed": (np.nan_to_num(fixed, nan=-np.inf), np.nan_to_num(fixed, nan=np.inf)),
        }
        if name == "displacement":
            wanted["bounds"] = (p.displacement_min, p.displacement_max)
        for kind, (low, high) in wanted.items():
            low, high = low * unit - offset, high * unit - offset
            for i in np.flatnonzero(np.isfinite(low) | np.isfinite(high)):
                parts.append((f"{name} {kind} {i}", matrix[i], float(low[i]), float(high[i])))
    for k, entry in enumerate(m.contacts.sums):
        row = np.zeros(n_a + n_r)
        normal = m.starts[entry.contacts]
        row[n_a + normal] = m.c_unit[normal]
        norm = math.sqrt(row @ row) or 1.0
        parts.append((f"sum {k}", row / norm, entry.minimum / norm, entry.maximum / norm))
    return Soft(
        [part[0] for part in parts],
        np.array([part[1] for part in parts]).reshape(-1, n_a + n_r),
        np.array([part[2] for part in parts], dtype=float),
        np.array([part[3] for part in parts], dtype=float),
    )


def state(problem: InverseProblem, *, violation: bool = False) -> Stated:
    """The matrices of a problem with contacts.

    Args:
        problem: The problem.
        violation: Whether soft limits may be exceeded, and 1/2 the sum of the squared excesses is
            what is minimised.
    """
    contacts = problem.contacts
    assert contacts is not None
    m = build_mechanics(problem, contacts, np.zeros(problem.n_a))
    n_a, n_r = m.W_ac.shape
    soft = soft_limits(m)
    k = len(soft.low) if violation else 0
    n = n_a + n_r + k
    F = np.concatenate((m.F_u, m.F_c, np.zeros((len(m.f), k))), axis=1)
    H, g = F.T @ F, F.T @ m.f
    strongest = float(H.diagonal().max()) or 1.0
    zero = m.free_objective
    length = max(m.size, math.sqrt(2.0 * zero / strongest))
    if violation:
        H, g, strongest, zero = np.zeros((n, n)), np.zeros(n), 1.0, 0.0
        H[n_a + n_r :, n_a + n_r :] = np.eye(k)
    low, high = (end / m.a_unit for end in effort_limits(problem))
    rows = np.concatenate((soft.R, np.eye(len(soft.R))[:, :k]), axis=1)
    R = np.concatenate((np.eye(n_a, n), rows))
    low, high = np.concatenate((low, soft.low)), np.concatenate((high, soft.high))
    G = np.concatenate((R[np.isfinite(high)], -R[np.isfinite(low)]))
    h = np.concatenate((high[np.isfinite(high)], -low[np.isfinite(low)])) / length
    norm = np.sqrt((G * G).sum(axis=1))
    norm[norm == 0.0] = 1.0
    weight = strongest * length**2
    statement = EnumerationProblem(
        H=H / strongest,
        g=g / (strongest * length),
        C=np.concatenate((m.W_ac.T, m.W_cc, np.zeros((n_r, k))), axis=1),
        c=m.c_free / length,
        G=G / norm[:, None],
        h=h / norm,
        mu=m.mu,
        starts=m.starts,
        rough=m.mu > 0.0,
        cone=not m.sticking,
        first=n_a,
    )
    floor = 1e-8 * zero / weight if not violation else 1e-12
    return Stated(m, statement, soft, length, weight, zero / weight, max(floor, 1e-14))
