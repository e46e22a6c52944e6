"""Convex relaxations of the problem: some contacts decided, the others not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sofa_softctl.inverse.checked import Checked
from sofa_softctl.inverse.limits import effort_box
from sofa_softctl.inverse.mechanics import Mechanics
from sofa_softctl.inverse.piece_qp import Bounds
from sofa_softctl.inverse.qp import QP

CUTS = 8
"""Most rounds of planes around the cones in a relaxation. Fewer make its bound lower, not wrong."""


class Open(NamedTuple):
    """What is known of one contact in a relaxation.

    A contact with friction that slides somewhere between the angles `low` and `high` has its
    motion in that sector, and its force opposite, between the arc of the friction disc and its
    chord.
    """

    touching: bool | None = None
    """Whether it touches; None = not decided."""
    sticking: bool | None = None
    """Whether it sticks or else slides; None = not decided."""
    low: float = 0.0
    """Least angle of sliding [rad]."""
    high: float = 0.0
    """Greatest angle of sliding, at most `low` + pi [rad]."""


class Relaxed(NamedTuple):
    """The answer of a relaxation, in units of energy."""

    bound: float
    """Its objective [displacement^2]: no answer with these decisions has a lower one."""
    effort: np.ndarray
    """Efforts, shape (n_a,)."""
    force: np.ndarray
    """Contact forces, shape (n_r,). Undecided contacts may push across a gap."""


class Relaxation:
    """Relaxations of one problem. They share their matrices, and their planes around the cones.

    All contacts have lam_n >= 0, delta_n >= 0 and, by Coulomb's law, a force in the friction cone;
    what is decided is added. Planes that touch a cone are added where an answer leaves it.

    Args:
        mechanics: The mechanics.
        bounds: The limits. All of them hold.
        ask: Asks the QP solvers, see `solve_checked`.
    """

    def __init__(self, mechanics: Mechanics, bounds: Bounds, ask: Callable[..., Checked]) -> None:
        m = self.mechanics = mechanics
        self.ask = ask
        self.asked: list[Checked] = []
        n_a, n_r = m.W_ac.shape
        B = np.concatenate((m.B_a, m.B_c), axis=1)
        H = B.T @ B
        if m.energy is not None:
            k = len(m.energy)
            H[:k, :k] += m.energy
        self.g = m.e_free @ B
        self.constant = 0.5 * float(m.e_free @ m.e_free)
        curvature = H.diagonal()
        strongest = curvature.max() or 1.0
        self.scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-6 * strongest))
        self.H = self.scale[:, None] * H * self.scale
        self._limits(bounds)
        C = np.concatenate((m.W_ac.T, m.W_cc), axis=1)  # (n_r, n_z)
        self.motion = C
        self.cuts: list[tuple[int, np.ndarray]] = []
        """Contact and direction of the planes around the cones."""
        self.size = max(math.sqrt(m.e_free @ m.e_free) / math.sqrt(strongest), m.size)
        self.n_a, self.n_r = n_a, n_r

    def _limits(self, bounds: Bounds) -> None:
        """Efforts' own limits, and rows for those of displacements and of sums."""
        m, p = self.mechanics, self.mechanics.problem
        lower, upper = (end / m.a_unit for end in effort_box(p))
        rows, low, high = [], [], []
        D = np.concatenate((m.W_aa, m.W_ac), axis=1)
        for limit in bounds.limits:
            if limit.quantity == "effort":
                lower = np.fmax(lower, limit.lower / m.a_unit)
                upper = np.fmin(upper, limit.upper / m.a_unit)
                continue
            kept = np.flatnonzero((limit.lower > -np.inf) | (limit.upper < np.inf))
            rows.append(D[kept])
            low.append(((limit.lower - p.delta_a_free) * m.a_unit)[kept])
            high.append(((limit.upper - p.delta_a_free) * m.a_unit)[kept])
        for k, entry in enumerate(m.contacts.sums):
            normal = m.contacts.starts[entry.contacts]
            S = np.zeros((1, len(self.g)))
            S[0, len(m.a_unit) + normal] = m.c_unit[normal]
            norm = math.sqrt(float((S * S).sum())) or 1.0
            rows.append(S / norm)
            low.append(bounds.sum_minimum[k : k + 1] / norm)
            high.append(bounds.sum_maximum[k : k + 1] / norm)
        self.lower, self.upper = lower, upper
        self.rows = np.concatenate([np.empty((0, len(self.g))), *rows])
        self.low, self.high = np.concatenate([[], *low]), np.concatenate([[], *high])

    def solve(self, contacts: tuple[Open, ...]) -> Relaxed | None:
        """The answer of the relaxation with these decisions; None if there is none.

        Raises:
            ArithmeticError: No QP solver gave an answer that passes the check.
        """
        relaxed = None
        for _ in range(CUTS):
            z, value = self._qp(contacts)
            if z is None:
                return None
            relaxed = Relaxed(value, z[: self.n_a], z[self.n_a :])
            if not self._cut(relaxed.force):
                break
        return relaxed

    def _qp(self, contacts: tuple[Open, ...]) -> tuple[np.ndarray | None, float]:
        m, n_a, n_r = self.mechanics, self.n_a, self.n_r
        lam_low, lam_high = np.full(n_r, -np.inf), np.full(n_r, np.inf)
        low, high = np.full(n_r, -np.inf), np.full(n_r, np.inf)
        starts = m.contacts.starts
        lam_low[starts] = low[starts] = 0.0
        extra: list[np.ndarray] = []
        for i, contact in enumerate(contacts):
            n = starts[i]
            end = n + (3 if m.rough[i] else 1)
            if contact.touching is False:
                lam_low[n:end] = lam_high[n:end] = 0.0
            elif contact.touching:
                high[n] = 0.0
                if contact.sticking:
                    low[n:end] = high[n:end] = 0.0
                elif contact.high > contact.low:
                    extra += self._sector(i, contact)
        extra += [self._plane(i, c) for i, c in self.cuts if contacts[i].touching is not False]
        E = np.array(extra).reshape(-1, len(self.g) + 1)
        A = np.concatenate((self.motion, self.rows, E[:, :-1])) * self.scale
        r = np.sqrt((A * A).sum(axis=1))
        r[r == 0.0] = 1.0
        below = np.concatenate((low - m.c_free, self.low, -E[:, -1])) / r
        above = np.concatenate((high - m.c_free, self.high, np.full(len(E), np.inf))) / r
        d, size = self.scale, self.size
        lower = np.concatenate((self.lower / d[:n_a], lam_low / d[n_a:], below)) / size
        upper = np.concatenate((self.upper / d[:n_a], lam_high / d[n_a:], above)) / size
        checked = self.ask(QP(self.H, d * self.g / size, A / r[:, None], lower, upper))
        self.asked.append(checked)
        if checked.result is None:
            if any("contradict" in note for note in checked.notes):
                return None, math.inf
            raise ArithmeticError(" ".join(checked.notes))
        x = checked.result.x * size
        value = 0.5 * float(x @ self.H @ x) + float((d * self.g) @ x) + self.constant
        return d * x, value

    def _sector(self, i: int, contact: Open) -> list[np.ndarray]:
        """Rows R (z, 1) >= 0 of a contact that slides in a sector."""
        m, n = self.mechanics, self.mechanics.contacts.starts[i]
        t = slice(n + 1, n + 3)
        rows = []
        middle, half = 0.5 * (contact.low + contact.high), 0.5 * (contact.high - contact.low)
        for angle, sign in ((contact.low, 1.0), (contact.high, -1.0)):
            across = sign * np.array([-math.sin(angle), math.cos(angle)])
            rows.append(np.append(across @ self.motion[t], across @ m.c_free[t]))
            rows.append(self._plane(i, -_unit(angle)))
        chord = -self._plane(i, -_unit(middle))
        chord[self.n_a + n] = -m.mu[i] * math.cos(half)
        rows.append(chord)
        return rows

    def _plane(self, i: int, direction: np.ndarray) -> np.ndarray:
        """mu lam_n - direction . lam_t as a row over (z, 1)."""
        n = self.n_a + self.mechanics.contacts.starts[i]
        row = np.zeros(len(self.g) + 1)
        row[n], row[n + 1 : n + 3] = self.mechanics.mu[i], -direction
        return row

    def _cut(self, force: np.ndarray) -> bool:
        """Add planes where forces left their cones; whether any did."""
        m = self.mechanics
        if m.sticking:
            return False
        before = len(self.cuts)
        for i in np.flatnonzero(m.rough).tolist():
            n = m.contacts.starts[i]
            size = math.hypot(force[n + 1], force[n + 2])
            if size > m.mu[i] * force[n] + 1e-4 * max(m.size, abs(force[n])):
                self.cuts.append((i, force[n + 1 : n + 3] / size))
        return len(self.cuts) > before


def _unit(angle: float) -> np.ndarray:
    return np.array([math.cos(angle), math.sin(angle)])
