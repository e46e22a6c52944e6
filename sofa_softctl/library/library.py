"""Library of optimal motions: the nearest one, adapted to given parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from sofa_softctl._internal.blas_threads import one_blas_thread
from sofa_softctl.errors import LibraryError
from sofa_softctl.library.entry import Entry
from sofa_softctl.library.ocp.problem import Motion, Parameter
from sofa_softctl.library.ocp.shooting import Program
from sofa_softctl.status import Status

FEASIBLE = 1e-7
"""Tolerance of linearised limits, in their units."""
CANDIDATES = 4
"""Number of entries tried for an answer."""
TREE = 2000
"""Number of entries from which a tree is faster than comparing all."""


class Correction(Enum):
    """How the nearest motion was adapted to the parameters. The value is a sentence."""

    NONE = "The nearest motion, as it is."
    LINEAR = "The nearest motion, corrected linearly: no limit is reached or left."
    TANGENT_QP = "The nearest motion, corrected by the tangent QP, as limits are reached or left."
    CLIPPED = "The nearest motion, corrected linearly and cut off at the limits."


_REASONS = {
    Status.INFEASIBLE: (
        "No change of the nearest motion keeps all limits to first order: it is given as it is. "
        "Do not execute it. Ask for less, or add motions to the library near these parameters."
    ),
    Status.NOT_CONVERGED: (
        "No QP solver gave an answer that passed the check: do not execute this motion."
    ),
    Status.FALLBACK: (
        "There was no time for the tangent QP: the linear correction, cut off at the limits. "
        "Limits of states may be exceeded. Give a larger budget."
    ),
}


@dataclass(frozen=True, eq=False)
class Answer:
    """A motion for given parameters, with status and errors."""

    p: np.ndarray
    """Parameters, shape (n_p,)."""
    v: np.ndarray
    """Unknowns, shape (n_v,)."""
    motion: Motion
    """Inputs, states, constants."""
    status: Status
    """SOLVED: it obeys all constraints to first order. FALLBACK, NOT_CONVERGED, INFEASIBLE: it does
    not, do not execute it."""
    correction: Correction
    """How the nearest motion was adapted."""
    nearest: int
    """Number of its entry."""
    mirrored: bool
    """Whether the entry was mirrored."""
    distance: float
    """Distance to the entry, in the library's metric."""
    predicted_error: float
    """Error at such a distance when the library was built; NaN if it is not known."""
    simulated_error: float
    """Error of the motion in simulation; NaN if it was not simulated."""
    tolerance: float
    """Tolerance of the error; infinite if it was not simulated."""
    outside: tuple[str, ...]
    """Parameters beyond the library's range: the answer extrapolates."""
    seconds: float
    """Computing time [s]."""
    notes: tuple[str, ...] = ()
    """Notes of the QP solvers."""

    @property
    def message(self) -> str:
        """Message; empty if all went well."""
        reasons = [] if self.status.ok else [_REASONS[self.status]]
        if self.simulated_error > self.tolerance:
            reasons.append(
                f"In simulation it misses by {self.simulated_error:.3g}, tolerance "
                f"{self.tolerance:.3g}: no motion nearby does better."
            )
        if self.outside:
            reasons.append(f"Beyond the library's range: {', '.join(self.outside)}.")
        return " ".join((*reasons, *self.notes))


class Signs(NamedTuple):
    """Mirror symmetry of a problem, as signs."""

    p: np.ndarray
    """Signs of the parameters, shape (n_p,)."""
    v: np.ndarray
    """Signs of the unknowns, shape (n_v,)."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Layout and limits of a problem, as its library needs them."""

    parameters: tuple[Parameter, ...]
    """Parameters p."""
    lower: np.ndarray
    """Least unknowns, shape (n_v,)."""
    upper: np.ndarray
    """Largest unknowns, shape (n_v,)."""
    x_at: np.ndarray
    """Indices of the states in v, shape (N + 1, n_x)."""
    u_at: np.ndarray
    """Indices of the inputs in v, shape (N, n_u)."""
    z_at: np.ndarray
    """Indices of the constants in v, shape (n_z,)."""
    horizon: float
    """Horizon T [time]."""
    mirror: Signs | None = None
    """Its symmetry, if it has one."""
    states: tuple[str, ...] = ()
    """Names of the states, with their units."""
    inputs: tuple[str, ...] = ()
    """Names of the inputs, with their units."""

    def motion(self, v: np.ndarray) -> Motion:
        """Motion of the unknowns v."""
        return Motion(v[self.u_at], v[self.x_at], v[self.z_at])


def shape_of(program: Program) -> Shape:
    """The shape of a program.

    Raises:
        ValueError: Its mirror does not map the limits to themselves.
    """
    problem, mirror = program.problem, None
    if problem.mirror is not None:
        signs = np.ones(program.size)
        signs[program.x_at] = problem.mirror.states
        signs[program.u_at] = problem.mirror.inputs
        turned = np.where(signs > 0.0, program.lower, -program.upper)
        if not (turned == program.lower).all():
            raise ValueError(
                f"'{problem.name}': the mirror does not fit the limits: what changes sign must "
                "have limits that are each other's negative."
            )
        mirror = Signs(np.array(problem.mirror.parameters, float), signs)
    return Shape(
        parameters=tuple(problem.parameters),
        lower=program.lower,
        upper=program.upper,
        x_at=program.x_at,
        u_at=program.u_at,
        z_at=program.z_at,
        horizon=problem.horizon,
        mirror=mirror,
        states=tuple(each.name for each in problem.states),
        inputs=tuple(each.name for each in problem.inputs),
    )


class NearestEntry(NamedTuple):
    """A near entry."""

    number: int
    """Number of the entry."""
    mirrored: bool
    """Whether it is mirrored."""
    distance: float
    """Distance in the library's metric."""


class _Adapted(NamedTuple):
    """An entry adapted to parameters."""

    near: NearestEntry
    v: np.ndarray
    status: Status
    correction: Correction
    notes: tuple[str, ...]
    error: float

    @property
    def rank(self) -> tuple[int, float]:
        """Sort key: executable ones first, then by simulated error."""
        return (not self.status.ok, np.nan_to_num(self.error, nan=0.0))


class TrajectoryLibrary:
    """Optimal motions of a problem, by their parameters.

    Args:
        shape: Layout and limits of the problem.
        entries: The motions.
        errors: Largest observed error over the squared distance of each; NaN where there is none.

    Source: Marcucci et al., section 5: Algorithm 1's steps that approximate.
    """

    def __init__(
        self, shape: Shape, entries: Sequence[Entry] = (), errors: Sequence[float] = ()
    ) -> None:
        self.shape = shape
        self.entries: list[Entry] = []
        self.errors: list[float] = []
        self._p = np.empty((0, len(shape.parameters)))
        self._slopes = np.zeros(len(shape.parameters))
        self._scaled: np.ndarray | None = None
        self._tree: KDTree | None = None
        self._qp_seconds = 0.0
        for number, entry in enumerate(entries):
            self.add(entry, errors[number] if len(errors) else np.nan)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def scale(self) -> np.ndarray:
        """Length of each axis of parameters in the metric, shape (n_p,).

        The mean over all motions of the change of inputs with it: near motions have similar
        inputs.
        """
        return self._slopes / max(len(self.entries), 1)

    def add(self, entry: Entry, error: float = np.nan) -> None:
        """Add a motion."""
        if len(self.entries) == len(self._p):
            grown = np.empty((max(64, 2 * len(self._p)), self._p.shape[1]))
            grown[: len(self._p)] = self._p
            self._p = grown
        self._p[len(self.entries)] = entry.p
        self.entries.append(entry)
        self.errors.append(error)
        self._slopes += np.linalg.norm(entry.v_p[self.shape.u_at.ravel()], axis=0)
        self._scaled = self._tree = None

    def prepare(self) -> None:
        """Set up the QPs of all entries, which the first answers would otherwise do."""
        for entry in self.entries:
            entry.qp.prepare()

    def learn(self, number: int, distance: float, error: float) -> None:
        """Record the error of an answer from an entry at a distance."""
        ratio = error / max(distance, 1e-9) ** 2
        self.errors[number] = float(np.fmax(self.errors[number], ratio))

    def nearest(self, p: np.ndarray, count: int = 1) -> list[NearestEntry]:
        """The entries nearest to parameters p, at most `count`, nearest first.

        Raises:
            LibraryError: The library is empty.
        """
        if not self.entries:
            raise LibraryError("The library is empty: build it first, softctl library build.")
        queries = [p] if self.shape.mirror is None else [p, self.shape.mirror.p * p]
        count, found = min(count, len(self.entries)), []
        for mirrored, query in enumerate(queries):
            distances, numbers = self._sought(query * self.scale, count)
            pairs = zip(numbers.tolist(), distances.tolist(), strict=True)
            found += [NearestEntry(number, bool(mirrored), far) for number, far in pairs]
        return sorted(found, key=lambda near: near.distance)[:count]

    def _sought(self, scaled: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the nearest, in scaled axes."""
        known = self._scaled
        if known is None:
            known = self._scaled = self._p[: len(self.entries)] * self.scale
        if len(known) < TREE:
            apart = known - scaled
            far = np.sqrt(np.einsum("ij,ij->i", apart, apart))
            best = np.argpartition(far, count - 1)[:count] if count < len(far) else np.arange(count)
            return far[best], best
        if self._tree is None:
            self._tree = KDTree(known)
        distances, numbers = self._tree.query(scaled, k=[*range(1, count + 1)])
        return np.asarray(distances), np.asarray(numbers)

    def query(
        self,
        p: ArrayLike,
        *,
        check: Program | None = None,
        tolerance: float | None = None,
        candidates: int = CANDIDATES,
        budget: float = np.inf,
        refine: bool = True,
        refuse: bool = False,
    ) -> Answer:
        """The motion for parameters p.

        The nearest entry is adapted. If that cannot keep the limits, the next one is tried; with
        `check` also if its simulated error is above the tolerance. The best is returned.

        Args:
            p: Parameters, shape (n_p,).
            check: The problem's program, which simulates answers; it needs CasADi.
            tolerance: Acceptable error of an answer; None: the problem's.
            candidates: Maximum number of tried entries; 1 is the paper's method.
            budget: Time for the answer [s]. Where a QP would take longer, by its time so far, the
                answer is the linear correction, marked as such.
            refine: Whether to adapt the nearest motion.
            refuse: Raise for parameters beyond the library's range instead of extrapolating.

        Raises:
            LibraryError: The library is empty, p is not finite or of a wrong shape, or beyond the
                range with `refuse`.
        """
        start = perf_counter()
        p = self._checked(p)
        outside = tuple(
            f"{each.name} = {value:.4g} not in [{each.lower:.4g}, {each.upper:.4g}]"
            for each, value in zip(self.shape.parameters, p, strict=True)
            if not each.lower - 1e-12 <= value <= each.upper + 1e-12
        )
        if outside and refuse:
            raise LibraryError(f"Beyond the library's range: {', '.join(outside)}.")
        if tolerance is None:
            tolerance = np.inf if check is None else check.problem.tolerance
        best: _Adapted | None = None
        for near in self.nearest(p, candidates if refine else 1):
            if best is not None and perf_counter() > start + budget:
                break
            found = self._adapted(near, p, start + budget, refine, check)
            if best is None or found.rank < best.rank:
                best = found
            if found.status.ok and not found.error > tolerance:
                break
        assert best is not None
        near = best.near
        return Answer(
            p=p,
            v=best.v,
            motion=self.shape.motion(best.v),
            status=best.status,
            correction=best.correction,
            nearest=near.number,
            mirrored=near.mirrored,
            distance=near.distance,
            predicted_error=self.errors[near.number] * near.distance**2,
            simulated_error=best.error,
            tolerance=tolerance,
            outside=outside,
            seconds=perf_counter() - start,
            notes=best.notes,
        )

    def _adapted(
        self, near: NearestEntry, p: np.ndarray, end: float, refine: bool, check: Program | None
    ) -> _Adapted:
        """The motion of an entry, adapted to p."""
        entry, mirror = self.entries[near.number], self.shape.mirror
        turned = near.mirrored and mirror is not None
        asked = mirror.p * p if turned and mirror is not None else p
        with one_blas_thread():
            v, status, correction, notes = self._adapt(entry, asked - entry.p, end, refine)
        if turned and mirror is not None:
            v = mirror.v * v
        error = check.error(v, p) if check is not None and status.ok else np.nan
        return _Adapted(near, v, status, correction, notes, error)

    def _adapt(
        self, entry: Entry, dp: np.ndarray, end: float, refine: bool
    ) -> tuple[np.ndarray, Status, Correction, tuple[str, ...]]:
        """(5) where (6c) and (6d) hold, else the tangent QP."""
        if not refine:
            return entry.v, Status.SOLVED, Correction.NONE, ()
        v = entry.v + entry.v_p @ dp
        lower, upper = self.shape.lower, self.shape.upper
        within = bool(((v >= lower - FEASIBLE) & (v <= upper + FEASIBLE)).all())
        within = within and bool((entry.path + entry.path_p @ dp >= -FEASIBLE).all())
        if within and bool((entry.mu + entry.mu_p @ dp >= 0.0).all()):
            return v, Status.SOLVED, Correction.LINEAR, ()
        begin = perf_counter()
        if begin + self._qp_seconds > end:
            return np.clip(v, lower, upper), Status.FALLBACK, Correction.CLIPPED, ()
        found = entry.qp.solve(dp)
        self._qp_seconds = max(0.9 * self._qp_seconds, perf_counter() - begin)
        if found.result is None:
            contradict = any("contradict" in note for note in found.notes)
            status = Status.INFEASIBLE if contradict else Status.NOT_CONVERGED
            return entry.v, status, Correction.NONE, found.notes
        corrected = entry.v + entry.qp.change(found.result.x, dp)
        notes = found.notes if found.replaced else ()
        return corrected, Status.SOLVED, Correction.TANGENT_QP, notes

    def _checked(self, p: Any) -> np.ndarray:
        given = np.asarray(p, float)
        names = [each.name for each in self.shape.parameters]
        if given.shape != (len(names),) or not np.isfinite(given).all():
            raise LibraryError(
                f"Parameters must be {len(names)} finite numbers: {', '.join(names)}. Got: {p}"
            )
        return given
