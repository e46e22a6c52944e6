"""Elasticity whose parameters can be identified."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.behavior.mechanics import ForceField


class SolidForceField(ForceField):
    """Elasticity of tetrahedra, each with its own parameters."""

    x0: np.ndarray
    """Positions at rest [length], shape (n, 3)."""
    elements: np.ndarray
    """Nodes of the tetrahedra, shape (m, 4)."""


class ElasticForceField(SolidForceField):
    """Isotropic linear elasticity of tetrahedra, each with its own Young's modulus.

    The stiffnesses of its `step_term` are V lambda and V mu of each tetrahedron, shape (m, 2):
    volume and Lame's parameters, lambda = E nu / ((1 + nu) (1 - 2 nu)), mu = E / (2 (1 + nu)).
    """

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


class HyperelasticForceField(SolidForceField):
    """A strain energy of tetrahedra that is linear in its parameters.

    The stiffnesses of its `step_term` are these parameters, of each tetrahedron.
    """

    parameters: np.ndarray
    """Those of each tetrahedron as they are now [pressure], shape (m, k)."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the k parameters, such as 'mu' and 'lambda'."""
        raise NotImplementedError

    def set_parameters(self, elements: np.ndarray | slice, values: np.ndarray) -> None:
        """Change the parameters of some elements, at once, shape (k,) or (m', k)."""
        raise NotImplementedError

    def rest_moduli(self) -> tuple[np.ndarray, np.ndarray]:
        """Shear and bulk modulus at rest [pressure], of linear elasticity there, shape (m,)."""
        raise NotImplementedError
