"""Exact equilibrium map f of a robot in a scene."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from sofa_softctl.base.time_limit import check_time
from sofa_softctl.errors import MapError
from sofa_softctl.scene.copies.equilibrium import (
    Equilibrium,
    EquilibriumMap,
    KnownEquilibrium,
    equilibrium_map,
)
from sofa_softctl.scene.copies.model_hash import model_hash
from sofa_softctl.surrogate.grid.embedding import Jet, Layout
from sofa_softctl.surrogate.grid.evaluation import MapSample, Neighbour

_BUILT: dict[str, EquilibriumMap] = {}
"""Map that this worker built for the last `ExactMap`, by its key."""


class ExactMap:
    """Map u -> [x, L, points]: equilibria of a scene's robot under cable tensions scale * u.

    It is built at first use, so that it is small when pickled to worker processes.

    Args:
        scene: Scene file.
        scale: Tension of u = 1 [force].
        points: Paths of nodes, the points of which come last in the outputs.
        parameters: Parameters of createScene.

    Source: Jia, Pan, Manocha 2019, section IV-A.
    """

    def __init__(
        self,
        scene: str | Path,
        *,
        scale: float,
        points: Sequence[str] = (),
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.scene, self.scale, self.points = os.fspath(scene), scale, tuple(points)
        self.parameters = dict(parameters or {})
        self.key = uuid4().hex
        """Key of the map that a worker builds once for all points."""
        self._copy = False
        self.seconds = 0.0
        """Time of evaluations in this process [s]."""
        self._equilibria: dict[bytes, Equilibrium] = {}

    def __getstate__(self) -> dict[str, Any]:
        names = ("scene", "scale", "points", "parameters", "seconds", "key")
        return {name: vars(self)[name] for name in names} | {"_equilibria": {}, "_copy": True}

    @cached_property
    def map(self) -> EquilibriumMap:
        """Map of the scene, built once for all copies that a worker receives."""
        if not self._copy:
            return self._build()
        if self.key not in _BUILT:
            _BUILT.clear()
            _BUILT[self.key] = self._build()
        return _BUILT[self.key]

    def _build(self) -> EquilibriumMap:
        return equilibrium_map(
            self.scene, scale=self.scale, points=self.points, parameters=self.parameters
        )

    @cached_property
    def model(self) -> str:
        """Digest of the model."""
        return model_hash(self.map)

    @cached_property
    def layout(self) -> Layout:
        """Layout of the outputs; further points are named PATH.NUMBER."""
        names = [
            f"{path}.{number}"
            for path, state in zip(self.points, self.map.watched, strict=True)
            for number in range(state.count)
        ]
        return Layout(len(self.map.rest), self.dimension, tuple(names))

    @property
    def dimension(self) -> int:
        """Number of cables."""
        return self.map.dimension

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.layout.size

    @property
    def dt(self) -> float:
        """Time step of the scene [time]."""
        return self.map.dt

    @property
    def damping(self) -> tuple[float, float]:
        """Factors rayleighMass [1 / time] and rayleighStiffness [time] of the scene."""
        return self.map.damping

    @property
    def count(self) -> int:
        """Number of equilibria solved in this process."""
        return self.map.count

    def masses(self) -> np.ndarray:
        """Return the mass of each coordinate [mass], shape (3 N,)."""
        return self.map.masses().ravel()

    @cached_property
    def stress_stiffness(self) -> np.ndarray:
        """Stress stiffness at u = 0, then its derivative by each u [force length].

        Shape (1 + d, d, d). See `EquilibriumMap.stress_stiffness`. It takes 1 + d equilibria, if it
        is not 0.
        """
        map_, d = self.map, self.dimension
        control = 0.1  # difference quotient of the stiffness by the controls
        if not map_.tangent.approximate_in_steps:
            return np.zeros((1 + d, d, d))
        rest = map_(np.zeros(d))
        stiffness_at_rest = map_.stress_stiffness(rest)
        stiffnesses = [map_.stress_stiffness(map_(u, rest)) for u in control * np.eye(d)]
        return np.stack(
            (
                stiffness_at_rest,
                *((stiffness - stiffness_at_rest) / control for stiffness in stiffnesses),
            )
        )

    def __call__(self, u: np.ndarray, neighbour: Neighbour | None = None) -> MapSample:
        """Solve for the equilibrium at u, from a known one.

        Raises:
            MapError: No equilibrium exists, it is unstable, or elements are inverted.
        """
        equilibrium = self._solve(
            u, None if neighbour is None else self._known_equilibrium(*neighbour)
        )
        return self._sample(equilibrium)

    def _solve(self, u: np.ndarray, initial: Equilibrium | KnownEquilibrium | None) -> Equilibrium:
        map_, start = self.map, perf_counter()
        try:
            equilibrium = map_(u, initial)
        finally:  # failed solves take longest
            self.seconds += perf_counter() - start
        if not equilibrium.stable:
            raise MapError(
                f"At u = {np.round(u, 6).tolist()} the robot is in unstable balance: it buckles, "
                "and rests elsewhere. Give narrower limits."
            )
        return equilibrium

    def _sample(self, equilibrium: Equilibrium) -> MapSample:
        d = self.dimension
        value = (equilibrium.x.ravel(), equilibrium.lengths, equilibrium.points.ravel())
        gradient = (
            equilibrium.x_u.reshape(-1, d),
            equilibrium.lengths_u,
            equilibrium.points_u.reshape(-1, d),
        )
        return MapSample(np.concatenate(value), np.concatenate(gradient))

    def _known_equilibrium(self, u: np.ndarray, sample: MapSample) -> KnownEquilibrium:
        rows, n = self.layout.position, self.layout.nodes
        gradient = sample.gradient[rows].reshape(n, 3, self.dimension)
        return KnownEquilibrium(u, np.asarray(sample.value[rows], float).reshape(n, 3), gradient)

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted second derivatives; equilibria of the last `at` are cached."""
        hessians = np.empty((len(points), self.dimension, self.dimension))
        layout, at = self.layout, None
        for k, (u, w) in enumerate(zip(points, weights, strict=True)):
            check_time()
            at = self._equilibria.get(u.tobytes()) or self.map(u, at)
            by_x = w[layout.position].reshape(-1, 3)
            by_points = w[layout.length.stop :].reshape(-1, 3)
            hessians[k] = self.map.curvature(at, by_x, w[layout.length], by_points)
        return hessians

    def at(self, points: np.ndarray) -> Jet:
        """Evaluate outputs and gradients at points (m, d), each from the one before.

        NaN at points without an equilibrium.
        """
        values = np.full((len(points), self.size), np.nan)
        gradients = np.full((len(points), self.size, self.dimension), np.nan)
        equilibrium = None
        self._equilibria.clear()
        for k, u in enumerate(points):
            check_time()
            try:
                equilibrium = self._equilibria[u.tobytes()] = self._solve(u, equilibrium)
            except MapError:
                continue
            sample = self._sample(equilibrium)
            values[k], gradients[k] = sample.value, sample.gradient
        return Jet(values, gradients)
