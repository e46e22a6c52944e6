"""Elasticity whose moduli can be identified."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField


class ElasticForceField(ForceField):
    """Isotropic linear elasticity of tetrahedra, each with its own Young's modulus.

    The stiffnesses of its `step_term` are V lambda and V mu of each tetrahedron, shape (m, 2):
    volume and Lame's parameters, lambda = E nu / ((1 + nu) (1 - 2 nu)), mu = E / (2 (1 + nu)).
    """

    x0: np.ndarray
    """Positions at rest [length], shape (n, 3)."""
    elements: np.ndarray
    """Nodes of the tetrahedra, shape (m, 4)."""
    stiffness: np.ndarray
    """V lambda and V mu of each as they are now [pressure length^3], shape (m, 2)."""
    unit_stiffness: np.ndarray
    """The same for E = 1, shape (m, 2)."""

    def moduli(self) -> np.ndarray:
        """Young's modulus of each element as it acts now [pressure], shape (m,)."""
        raise NotImplementedError

    def set_moduli(self, elements: np.ndarray | slice, young: np.ndarray | float) -> None:
        """Change Young's modulus [pressure] of some elements, at once."""
        raise NotImplementedError

    def poisson_ratio(self) -> float:
        """Poisson's ratio of all elements."""
        raise NotImplementedError

    def set_poisson_ratio(self, value: float) -> None:
        """Change Poisson's ratio of all elements, at once."""
        raise NotImplementedError
