"""MinResLinearSolver: minimal residuals, for symmetric matrices that may be indefinite."""

from __future__ import annotations

import math

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.solver.conjugate_gradient import CGLinearSolver

_EPS = float(np.finfo(float).eps)


class MinResLinearSolver(CGLinearSolver):
    """The minimal residual method of Paige and Saunders.

    Starts from the last step's solution and stops after `iterations`, or when |r| / (|A| |x|) or
    |A r| / (|A| |r|) is at most `tolerance`.

    Source: Paige, Saunders 1975, "Solution of sparse indefinite systems of linear equations";
    stopping rules as in SOFA.
    """

    @override
    def solve(self, b: np.ndarray) -> np.ndarray:
        self._b = b
        self._x = self._solve(b, self._x)
        return self._x

    def _solve(self, b: np.ndarray, start: np.ndarray) -> np.ndarray:
        x, first = start.copy(), b - self._product(start)
        norm = math.sqrt(float(np.vdot(first, first)))
        if norm == 0.0:
            return x
        y = before = first
        w = w_before = np.zeros_like(b)
        beta_before, beta, dbar, epsilon, phibar = 0.0, norm, 0.0, 0.0, norm
        cosine, sine, sum_of_squares = -1.0, 0.0, 0.0
        largest, smallest = 0.0, math.inf
        for iteration in range(self.iterations.get()):
            # Lanczos vector, and its row of the tridiagonal matrix
            v, latest = y / beta, y
            y = self._product(v)
            if iteration:
                y = y - (beta / beta_before) * before
            alpha = float(np.vdot(v, y))
            y = y - (alpha / beta) * latest
            before, beta_before = latest, beta
            beta = math.sqrt(float(np.vdot(y, y)))
            sum_of_squares += alpha**2 + beta_before**2 + beta**2
            # the last plane rotation, and the next one
            epsilon_before, delta = epsilon, cosine * dbar + sine * alpha
            gbar = sine * dbar - cosine * alpha
            epsilon, dbar = sine * beta, -cosine * beta
            root = math.hypot(gbar, dbar)
            gamma = max(math.hypot(gbar, beta), _EPS)
            cosine, sine = gbar / gamma, beta / gamma
            phi, phibar = cosine * phibar, sine * phibar
            w, w_before = (v - epsilon_before * w_before - delta * w) / gamma, w
            x += phi * w
            if iteration == 0 and beta / norm < 10.0 * _EPS:
                break
            size, length = math.sqrt(sum_of_squares), math.sqrt(float(np.vdot(x, x)))
            largest, smallest = max(largest, gamma), min(smallest, gamma)
            tests = (phibar / (size * length), root / size)
            singular = largest / smallest >= 0.1 / _EPS or size * _EPS * length >= norm
            if min(tests) <= max(self.tolerance.get(), 0.0) or singular:
                break
        self._record_solve(b, abs(phibar))
        return x
