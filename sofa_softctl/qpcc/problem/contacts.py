"""Contacts of one time step, as variables of the inverse problem."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from sofa_softctl.errors import ProblemError


@dataclass(frozen=True)
class Law:
    """Contact law."""

    friction: Literal["coulomb", "sticking"] = "coulomb"
    """"coulomb": a contact is inactive, or sticks inside the friction cone, or slides on it against
    its friction; the cone is round. "sticking": it is inactive or sticks, with any tangential
    force."""

    def __post_init__(self) -> None:
        if self.friction not in ("coulomb", "sticking"):
            raise ProblemError(f"friction must be 'coulomb' or 'sticking', got {self.friction!r}.")


class NormalSum(NamedTuple):
    """Bounds on the sum of some contacts' normal forces, such as of those on a grasped object.

    Source: Coevoet, Escande, Duriez 2019, section III-E.
    """

    name: str
    """Name in messages."""
    contacts: Sequence[int] | np.ndarray
    """Numbers of the contacts."""
    minimum: float = 0.0
    """Least sum [effort]. Kept if that is feasible."""
    maximum: float = math.inf
    """Greatest sum [effort]."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Contacts:
    """Compliance and free motion of the contacts of one time step.

    A contact with friction has three rows, in SOFA's order: normal, first tangent, second tangent.
    One without (mu = 0) has only the normal row. With the forces lam_c of the rows,

        delta_c = W_ca lam_a + W_cc lam_c + delta_c_free

    is the gap along the normal and the motion during the step along the tangents, and
    delta_e and delta_a of `InverseProblem` gain the terms W_ec lam_c and W_ac lam_c.
    W_ca is the transpose of W_ac. Arrays are copied and read-only.

    Source: Coevoet, Escande, Duriez 2019, eqs. (4) and (5).
    """

    W_ec: np.ndarray
    """Motion of effector rows per contact force [displacement / effort], shape (n_e, n_r)."""
    W_ac: np.ndarray
    """Motion of actuators per contact force [displacement / effort], shape (n_a, n_r)."""
    W_cc: np.ndarray
    """Motion of contact rows per contact force [displacement / effort], shape (n_r, n_r),
    symmetric."""
    delta_c_free: np.ndarray
    """Gap or tangential motion in the free motion [displacement], shape (n_r,)."""
    friction: np.ndarray
    """Coefficient of friction mu of each contact [-], shape (n_c,). 0: the contact has one row."""
    identity: Sequence[Hashable] = ()
    """Key of each contact over steps, for the warm start. Default: its number."""
    names: Sequence[str] = ()
    """Names of the contacts in messages. Default: "contact 0", "contact 1", ..."""
    pairs: Sequence[Hashable] = ()
    """The two bodies of each contact. Contacts of a pair may have to begin to slide together.
    Default: all contacts are of one pair."""
    sums: Sequence[NormalSum] = ()
    """Bounds on sums of normal forces."""
    law: Law = Law()
    """Contact law."""
    energy: bool = False
    """Whether the energy term of the problem covers the contact forces too: then W_E is all of
    [[W_aa, W_ac], [W_ca, W_cc]], as in SoftRobots.Inverse with `actuatorsOnly` false. Otherwise it
    covers the actuators, as without contacts; it is scaled by the tracking term over the contact
    forces if the actuators do not move the effectors without contacts."""

    def __post_init__(self) -> None:
        values = vars(self)
        mu = values["friction"] = _array(self.friction)
        if mu.ndim != 1 or not (np.isfinite(mu).all() and (mu >= 0.0).all()):
            raise ProblemError(
                f"friction must be a finite number >= 0 for each contact, got {self.friction!r}."
            )
        n_r = int(len(mu) + 2 * (mu > 0.0).sum())
        for name in ("W_ec", "W_ac", "W_cc", "delta_c_free"):
            values[name] = _array(values[name])
            _check_rows(name, values[name], len(mu), n_r)
        _check_symmetry(self.W_cc)
        values["identity"] = tuple(self.identity) if len(self.identity) else tuple(range(len(mu)))
        values["names"] = tuple(self.names) or tuple(f"contact {i}" for i in range(len(mu)))
        values["pairs"] = tuple(self.pairs) or ("",) * len(mu)
        for name in ("identity", "names", "pairs"):
            if len(values[name]) != len(mu):
                raise ProblemError(
                    f"{name} must have one entry for each of the {len(mu)} contacts, got "
                    f"{len(values[name])}."
                )
        if len(set(values["identity"])) != len(mu):
            raise ProblemError("identities of contacts must differ, but two are the same.")
        values["sums"] = tuple(_checked_sum(bound, len(mu)) for bound in self.sums)

    @cached_property
    def starts(self) -> np.ndarray:
        """First row of each contact, which is its normal, shape (n_c,)."""
        counts = np.where(self.friction > 0.0, 3, 1)
        return _frozen(np.cumsum(counts) - counts)

    @property
    def n_c(self) -> int:
        """Number of contacts."""
        return len(self.friction)

    @property
    def n_r(self) -> int:
        """Number of contact rows."""
        return len(self.delta_c_free)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _array(value: Any) -> np.ndarray:
    return _frozen(np.array(value, dtype=float, order="C"))


def _check_rows(name: str, array: np.ndarray, n_c: int, n_r: int) -> None:
    expected = {"W_cc": (n_r, n_r), "delta_c_free": (n_r,)}.get(name)
    is_expected = array.shape == expected if expected else array.ndim == 2 and array.shape[1] == n_r
    if not is_expected:
        raise ProblemError(
            f"{name} must have {expected or f'{n_r} columns'}: the {n_c} contacts have {n_r} rows, "
            f"three where mu > 0 and one where mu = 0. Got the shape {array.shape}."
        )
    if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
        index = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ProblemError(
            f"{name}{list(index)} is {array[index]}, not a finite number. The simulation has "
            f"probably diverged: look at the step before, try a smaller dt."
        )


def _check_symmetry(W: np.ndarray) -> None:
    skew = W - W.T
    if np.vdot(skew, skew) > 1e-16 * np.vdot(W, W):
        i, j = np.unravel_index(np.abs(skew).argmax(), W.shape)
        raise ProblemError(
            f"W_cc must be symmetric to 1e-8: W_cc[{i}, {j}] is {W[i, j]}, W_cc[{j}, {i}] is "
            f"{W[j, i]}. Are its rows and columns in the same order?"
        )


def _checked_sum(bound: NormalSum, n_c: int) -> NormalSum:
    index = _frozen(np.array(bound.contacts, dtype=int).reshape(-1))
    if len(index) and not (0 <= index.min() and index.max() < n_c):
        raise ProblemError(f"{bound.name}: contacts must be numbers below {n_c}, got {index}.")
    if not (bound.minimum <= bound.maximum and bound.minimum < math.inf and bound.maximum >= 0.0):
        raise ProblemError(
            f"{bound.name}: give a minimum that is not above the maximum, and a maximum >= 0, got "
            f"{bound.minimum} and {bound.maximum}."
        )
    return bound._replace(contacts=index)
