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
"""Map of the last exact map that this worker evaluated, by its key."""


PULLED = 0.1
"""Control at which the derivative of `ExactMap.stress_stiffness` is taken [-]."""


class ExactMap:
    """u -> [x, L, points]: equilibria of a scene's robot under line tensions scale * u.

    Built at first use, so that it is small when pickled to worker processes.

    Args:
        scene: Scene file.
        scale: Tension of u = 1 [force].
        points: Paths of nodes; their states' points come last in the outputs.
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
        """Of the map that a worker builds, once for all points."""
        self._copy = False
        self.seconds = 0.0
        """Time of its evaluations in this process [s]."""
        self._known: dict[bytes, Equilibrium] = {}

    def __getstate__(self) -> dict[str, Any]:
        kept = ("scene", "scale", "points", "parameters", "seconds", "key")
        return {name: vars(self)[name] for name in kept} | {"_known": {}, "_copy": True}

    @cached_property
    def map(self) -> EquilibriumMap:
        """The map of the scene, built once for all copies that a worker receives."""
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
        """Number of lines."""
        return self.map.dimension

    @property
    def size(self) -> int:
        """Number of outputs."""
        return self.layout.size

    @property
    def dt(self) -> float:
        """The scene's time step [time]."""
        return self.map.dt

    @property
    def damping(self) -> tuple[float, float]:
        """The scene's rayleighMass [1 / time] and rayleighStiffness [time]."""
        return self.map.damping

    @property
    def count(self) -> int:
        """Number of equilibria found in this process."""
        return self.map.count

    def masses(self) -> np.ndarray:
        """Mass of each coordinate [mass], shape (3 N,)."""
        return self.map.masses().ravel()

    @cached_property
    def stress_stiffness(self) -> np.ndarray:
        """See `EquilibriumMap.stress_stiffness`: at u = 0, then its derivative by each u.

        [force length], shape (1 + d, d, d). From 1 + d equilibria, where it is not 0.
        """
        map_, d = self.map, self.dimension
        if not map_.tangent.approximate_in_steps:
            return np.zeros((1 + d, d, d))
        here = map_(np.zeros(d))
        at_rest = map_.stress_stiffness(here)
        pulled = [map_.stress_stiffness(map_(u, here)) for u in PULLED * np.eye(d)]
        return np.stack((at_rest, *((each - at_rest) / PULLED for each in pulled)))

    def __call__(self, u: np.ndarray, near: Neighbour | None = None) -> MapSample:
        """Equilibrium at u, solved from a known one.

        Raises:
            MapError: there is none, it is unstable, or elements are inverted.
        """
        found = self._found(u, None if near is None else self._near(*near))
        return self._sample(found)

    def _found(self, u: np.ndarray, near: Equilibrium | KnownEquilibrium | None) -> Equilibrium:
        map_, start = self.map, perf_counter()
        try:
            found = map_(u, near)
        finally:  # failed solves take longest
            self.seconds += perf_counter() - start
        if not found.stable:
            raise MapError(
                f"At u = {np.round(u, 6).tolist()} the robot is in unstable balance: it buckles, "
                "and rests elsewhere. Give narrower limits."
            )
        return found

    def _sample(self, found: Equilibrium) -> MapSample:
        d = self.dimension
        value = (found.x.ravel(), found.lengths, found.points.ravel())
        gradient = (found.x_u.reshape(-1, d), found.lengths_u, found.points_u.reshape(-1, d))
        return MapSample(np.concatenate(value), np.concatenate(gradient))

    def _near(self, u: np.ndarray, sample: MapSample) -> KnownEquilibrium:
        rows, n = self.layout.position, self.layout.nodes
        gradient = sample.gradient[rows].reshape(n, 3, self.dimension)
        return KnownEquilibrium(u, np.asarray(sample.value[rows], float).reshape(n, 3), gradient)

    def curvature(self, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """See `Embedding`; points of the last `at` are cached."""
        found = np.empty((len(points), self.dimension, self.dimension))
        layout, at = self.layout, None
        for k, (u, w) in enumerate(zip(points, weights, strict=True)):
            at = self._known.get(u.tobytes()) or self.map(u, at)
            by_x = w[layout.position].reshape(-1, 3)
            by_points = w[layout.length.stop :].reshape(-1, 3)
            found[k] = self.map.curvature(at, by_x, w[layout.length], by_points)
        return found

    def at(self, points: np.ndarray) -> Jet:
        """Outputs and gradients at the points, shape (m, d), each from the one before.

        NaN where there is no equilibrium.
        """
        values = np.full((len(points), self.size), np.nan)
        gradients = np.full((len(points), self.size, self.dimension), np.nan)
        near = None
        self._known.clear()
        for k, u in enumerate(points):
            try:
                near = self._known[u.tobytes()] = self._found(u, near)
            except MapError:
                continue
            sample = self._sample(near)
            values[k], gradients[k] = sample.value, sample.gradient
        return Jet(values, gradients)
