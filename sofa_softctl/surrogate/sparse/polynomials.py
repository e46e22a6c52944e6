"""Sparse polynomials in many variables, fitted to values and gradients by least squares.

A basis function is a product of Legendre polynomials, one for each coordinate; the degrees of a
product are its term. With gradients, each sample gives 1 + d equations, so that few samples
determine many terms.

Source: Gerstner & Griebel 2003 for sets of terms that are sparse and closed downwards; Peng,
Hampton, Doostan 2016 for least squares with gradients.

Sets of terms are downward closed, with smaller degrees along narrow axes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sofa_softctl.base.jit import njit


@njit
def _legendre(t: float, degree: int, table: np.ndarray) -> None:
    """P_0 … P_degree at t with first and second derivatives, table (3, degree + 1).

    (n + 1) P_n+1 = (2 n + 1) t P_n - n P_n-1; P'_n+1 = P'_n-1 + (2 n + 1) P_n; likewise P''.
    """
    table[:, 0] = 0.0
    table[0, 0] = 1.0
    if degree:
        table[0, 1], table[1, 1], table[2, 1] = t, 1.0, 0.0
    for n in range(1, degree):
        table[0, n + 1] = ((2 * n + 1) * t * table[0, n] - n * table[0, n - 1]) / (n + 1)
        table[1, n + 1] = table[1, n - 1] + (2 * n + 1) * table[0, n]
        table[2, n + 1] = table[2, n - 1] + (2 * n + 1) * table[1, n]


@njit
def _product(table: np.ndarray, term: np.ndarray, first: int, second: int) -> float:
    """Return the product of a term, differentiated once in each of two directions, -1 for none."""
    product = 1.0
    for j in range(len(term)):
        order = (j == first) + (j == second)
        if term[j]:
            product *= table[j, order, term[j]]
        elif order:
            return 0.0
    return product


@njit
def fill_rows(points: np.ndarray, terms: np.ndarray, out: np.ndarray) -> None:
    """Evaluate terms and derivatives at points (m, d) into out (m, 1 or 1 + d, p)."""
    m, d = points.shape
    degree = terms.max()
    table = np.empty((d, 3, degree + 1))
    for k in range(m):
        for j in range(d):
            _legendre(points[k, j], degree, table[j])
        for p in range(len(terms)):
            out[k, 0, p] = _product(table, terms[p], -1, -1)
            for j in range(out.shape[1] - 1):
                out[k, 1 + j, p] = _product(table, terms[p], j, -1) if terms[p, j] else 0.0


@njit
def curvature(points: np.ndarray, terms: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return second derivatives of the sum of terms times w (m, p), shape (m, d, d)."""
    m, d = points.shape
    degree = terms.max()
    table = np.empty((d, 3, degree + 1))
    total = np.zeros((m, d, d))
    for k in range(m):
        for j in range(d):
            _legendre(points[k, j], degree, table[j])
        for p in range(len(terms)):
            for i in range(d):
                if not terms[p, i]:
                    continue
                for j in range(i + 1):
                    if terms[p, j]:
                        total[k, i, j] += w[k, p] * _product(table, terms[p], i, j)
        for i in range(d):
            for j in range(i):
                total[k, j, i] = total[k, i, j]
    return total


@dataclass(frozen=True)
class FitSettings:
    """Numbers of the least-squares fits."""

    singular_tolerance: float = 1e-9
    """Relative size below which an equation counts as dependent on others [-]."""
    term_fraction_max: float = 0.7
    """Largest number of terms over the number of equations [-]."""
    terms_max: int = 1500
    """Maximum number of terms; a factorisation then takes some seconds."""
    outputs_checked: int = 200
    """Number of outputs, evenly spread, whose errors determine the number of terms."""
    analytic_radius: float = 10.0
    """Radius r of `axis_weights` over half the largest width; a tenth of it doubles weights [-]."""


SETTINGS = FitSettings()


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates t = (u - center) axes^T / half: the principal axes of points, within [-1, 1]."""

    center: np.ndarray
    """Middle of the points [input], shape (d,)."""
    axes: np.ndarray
    """Orthonormal axes, one a row, the widest first, shape (d, d)."""
    half: np.ndarray
    """Half the width of the points along each axis [input], shape (d,)."""

    @classmethod
    def from_points(cls, points: np.ndarray) -> Frame:
        """Return the frame of at least two points (m, d)."""
        mean = points.mean(axis=0)
        _, _, axes = np.linalg.svd(points - mean)
        t = (points - mean) @ axes.T
        low, high = t.min(axis=0), t.max(axis=0)
        half_min = 1e-9 * (float((high - low).max()) or 1.0)
        half = np.maximum(0.5 * (high - low), half_min)
        return cls(mean + 0.5 * (low + high) @ axes, axes, half)

    @cached_property
    def by_input(self) -> np.ndarray:
        """Derivative dt / du, shape (d, d)."""
        return self.axes / self.half[:, None]

    def coordinates(self, points: np.ndarray) -> np.ndarray:
        """Return the coordinates t of points (m, d)."""
        return np.ascontiguousarray((points - self.center) @ self.by_input.T)


@dataclass(frozen=True, eq=False)
class Basis:
    """Products of Legendre polynomials of a frame's coordinates."""

    frame: Frame
    """Coordinates t."""
    terms: np.ndarray
    """Degree of each product in each coordinate, shape (p, d)."""

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the values at points (m, d), shape (m, p)."""
        return self._rows(points, 1)[:, 0]

    def rows(self, points: np.ndarray) -> np.ndarray:
        """Return values (0) and derivatives by t (1 + i) at points (m, d), shape (m, 1 + d, p)."""
        return self._rows(points, 1 + points.shape[1])

    def gradients(self, points: np.ndarray) -> np.ndarray:
        """Return derivatives by the inputs at points (m, d), shape (m, d, p) [1 / input]."""
        return np.matmul(self.frame.by_input.T, self.rows(points)[:, 1:])

    def curvature(self, points: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return second derivatives of the sum of functions times w (m, p), shape (m, d, d)."""
        t, by_input = self.frame.coordinates(points), self.frame.by_input
        bend = curvature(t, self.terms, np.ascontiguousarray(w, float))
        return by_input.T @ bend @ by_input

    def _rows(self, points: np.ndarray, orders: int) -> np.ndarray:
        out = np.empty((len(points), orders, len(self.terms)))
        fill_rows(self.frame.coordinates(points), self.terms, out)
        return out


class Fit:
    """Least-squares fit of a basis to samples; linear in their data, like splines.

    Args:
        basis: Basis of p functions.
        points: Points of the samples [input], shape (c, d), with c (1 + d) >= p.
    """

    def __init__(self, basis: Basis, points: np.ndarray) -> None:
        self.basis, self.count = basis, len(points)
        p = len(basis.terms)
        self._Q, self._R = np.linalg.qr(basis.rows(points).reshape(-1, p))

    @property
    def determined_term_count(self) -> int:
        """Number of leading terms that the samples determine."""
        size = np.abs(np.diag(self._R))
        weak = np.flatnonzero(size <= SETTINGS.singular_tolerance * size.max())
        return int(weak[0]) if len(weak) else len(size)

    def truncate(self, p: int) -> Fit:
        """Return the fit of the first p terms to the same samples; shares memory."""
        fit = object.__new__(Fit)
        fit.basis, fit.count = Basis(self.basis.frame, self.basis.terms[:p]), self.count
        fit._Q, fit._R = self._Q[:, :p], self._R[:p, :p]
        return fit

    def coefficients(self, data: np.ndarray) -> np.ndarray:
        """Fit coefficients (p, n) to values (0) and gradients (1 + i) of samples (c, 1 + d, n)."""
        solution: np.ndarray = np.linalg.solve(self._R, self._Q.T @ self.right_sides(data))
        return solution

    def left_out(self, right: np.ndarray) -> np.ndarray:
        """Return the error at each sample of the fit to all other samples, shape (c, n).

        With Q_s the 1 + d rows of sample s and r_s its residual, it is the first component of (I -
        Q_s Q_s^T)^-1 r_s, without another fit. Infinite if the other samples do not suffice.

        Args:
            right: Right sides from `right_sides`.
        """
        c, orders = self.count, 1 + self.basis.frame.axes.shape[0]
        residual = (right - self._Q @ (self._Q.T @ right)).reshape(c, orders, -1)
        Q = self._Q.reshape(c, orders, -1)
        freedom = np.eye(orders) - Q @ Q.transpose(0, 2, 1)  # (c, 1 + d, 1 + d)
        is_regular = np.linalg.eigvalsh(freedom)[:, 0] > SETTINGS.singular_tolerance
        errors = np.full((c, residual.shape[2]), np.inf)
        errors[is_regular] = np.linalg.solve(freedom[is_regular], residual[is_regular])[:, 0]
        return errors

    def right_sides(self, data: np.ndarray) -> np.ndarray:
        """Return values and derivatives by t of samples, shape (c (1 + d), n)."""
        frame = self.basis.frame
        by_t = np.matmul(frame.axes * frame.half[:, None], data[:, 1:])  # du/dt of each axis
        return np.concatenate((data[:, :1], by_t), axis=1).reshape(self.count * data.shape[1], -1)


def best_fit(points: np.ndarray, data: np.ndarray, *, counts: np.ndarray | None = None) -> Fit:
    """Return the fit with the number of terms that predicts left-out samples best, see `fits`."""
    return min(fits(points, data, counts=counts), key=lambda tried: tried[1])[0]


def fits(
    points: np.ndarray, data: np.ndarray, *, counts: np.ndarray | None = None
) -> Iterator[tuple[Fit, float]]:
    """Yield fits of increasing size, with their rms error at left-out samples.

    The terms are the first ones of `ordered_terms` for the points' frame, from 1 + d to
    `DETERMINED` of the equations or `TERMS`. One factorisation serves all fits.

    Args:
        points: Points of the samples [input], shape (c, d).
        data: Values (0) and gradients (1 + i) of the samples, shape (c, 1 + d, n).
        counts: Mask of samples whose errors count, shape (c,); by default all.
    """
    c, d = points.shape
    frame = Frame.from_points(points)
    term_count_max = max(
        min(int(SETTINGS.term_fraction_max * c * (1 + d)), SETTINGS.terms_max), 1 + d
    )
    full_fit = Fit(Basis(frame, ordered_terms(frame.half, term_count_max)), points)
    outputs = np.unique(np.linspace(0, data.shape[2] - 1, SETTINGS.outputs_checked).astype(int))
    right = full_fit.right_sides(data[:, :, outputs])
    for p in _sizes(1 + d, max(full_fit.determined_term_count, 1 + d)):
        fit = full_fit.truncate(p)
        errors = np.abs(fit.left_out(right)).max(axis=1)
        counting_errors = errors if counts is None else errors[counts]
        yield fit, float(np.sqrt(np.mean(counting_errors**2)))


def _sizes(first: int, last: int) -> list[int]:
    """Return numbers from first to last, each a fifth larger than the one before."""
    sizes = [first]
    while sizes[-1] < last:
        sizes.append(min(max(int(1.2 * sizes[-1]), sizes[-1] + 1), last))
    return sizes


def axis_weights(half: np.ndarray, r: float) -> np.ndarray:
    """Return log(r / half), the weight of a degree along axes of these half widths, shape (d,).

    The part of degree n of a map that is analytic within r falls as (half / r)^n.
    """
    weights: np.ndarray = np.log(r / half)
    return weights


def ordered_terms(half: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` terms of least weight, in that order, shape (count, d).

    A term alpha weighs sum_j w_j alpha_j with `axis_weights`. Each beginning of the list is
    downward closed: with a term it has all its divisors.

    Args:
        half: Half the width of the region along each axis, shape (d,).
        count: Number of terms.
    """
    d = len(half)
    w = axis_weights(half, SETTINGS.analytic_radius * half.max())
    order = np.argsort(w, kind="stable")
    w = w[order]
    terms = np.zeros((count, d), np.int64)
    waiting: list[tuple[float, tuple[int, ...], int]] = [(0.0, (0,) * d, 0)]
    for k in range(count):
        weight, term, first = heapq.heappop(waiting)
        terms[k, order] = term
        for j in range(first, d):  # every term is reached once, coordinate after coordinate
            longer = (*term[:j], term[j] + 1, *term[j + 1 :])
            heapq.heappush(waiting, (weight + w[j], longer, j))
    return terms
