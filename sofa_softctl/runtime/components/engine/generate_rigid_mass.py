"""Mass and inertia of a homogeneous body from its surface."""

from __future__ import annotations

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass, RigidMassData
from sofa_softctl.runtime.core.data.types import Elements, Real, Vector, Vectors
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain

_CLOSURE_TOLERANCE = 1e-6  # sum of the area vectors of a closed surface, relative to its area


class GenerateRigidMass(Engine):
    """Mass, volume, centre and inertia of the body inside a closed surface.

    The triangles are wound so that they are seen counter-clockwise from outside. For a UniformMass:
    vertexMass="@NAME.rigidMass", with the body's frame in massCenter.
    """

    inputs = ("density", "position", "triangles", "quads")

    density = Real(1000.0, "Mass of a unit of volume.", unit="mass/length^3")
    position = Vectors(3, [], "Vertices.", unit="length")
    triangles = Elements(3, [], "Triangles of the surface.", of="position")
    quads = Elements(4, [], "Quads of the surface.", of="position")
    rigidMass = RigidMassData(1.0, "Mass, volume and inertia for a UniformMass.", computed=True)
    mass = Real(0.0, "Mass.", unit="mass", computed=True)
    volume = Real(0.0, "Volume.", unit="length^3", computed=True)
    inertiaMatrix = Vectors(
        3, np.zeros((3, 3)), "Inertia about the centre per mass.", unit="length^2", computed=True
    )
    massCenter = Vector(3, [0.0, 0.0, 0.0], "Centre of mass.", unit="length", computed=True)
    centerToOrigin = Vector(
        3, [0.0, 0.0, 0.0], "From the centre of mass to the origin.", unit="length", computed=True
    )

    def init(self) -> None:
        """Compute the outputs."""
        super().init()
        self._is_ready = True
        self.update_outputs()

    def compute(self) -> None:
        """Integrate over the surface.

        Raises:
            SceneError: there is no surface, or it encloses no volume.
        """
        if not self._is_ready:
            return
        corners = self._corners()
        start = corners.reshape(-1, 3).mean(axis=0)
        if not is_closed(corners):
            label = f"{describe(self._where)}: {self.describe()}"
            message.warning(self, f"{label} has a surface with holes.")
            start = np.zeros(3)
        volume, centre, inertia = solid_of(corners, start)
        if not volume > 0.0:
            problem = (
                f"finds the volume {volume:g}: the triangles must enclose something and be wound "
                "counter-clockwise as seen from outside."
            )
            complain(self, self.fault(problem))
        if not volume:
            return
        mass = volume * self.density.get()
        self.rigidMass.set(str(RigidMass(mass, volume, tuple(inertia.ravel()))))
        self.mass.set(mass)
        self.volume.set(volume)
        self.inertiaMatrix.set(inertia)
        self.massCenter.set(centre)
        self.centerToOrigin.set(-centre)

    def _corners(self) -> np.ndarray:
        """Return the corners of the triangles, two per quad included, shape (t, 3, 3)."""
        quads = self.quads.get()
        triangles = np.concatenate([self.triangles.get(), quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        if not len(triangles):
            raise self.fault("needs 'triangles' or 'quads' that enclose a body.")
        self.check_own_numbers()
        return self.position.get()[triangles]


def is_closed(corners: np.ndarray) -> bool:
    """Return True if the area vectors of triangles (t, 3, 3) cancel."""
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(areas, axis=1).sum()
    return bool(np.linalg.norm(areas.sum(axis=0)) <= _CLOSURE_TOLERANCE * sizes)


def solid_of(corners: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume, centre (3,), and inertia about the centre divided by the mass (3, 3).

    By the divergence theorem, the volume is the integral of n_x x over the surface, with normal n.
    For a surface with holes the result is SOFA's and depends on the axes and on `start`.

    Args:
        corners: Corners of the triangles that enclose the solid, shape (t, 3, 3).
        start: Origin of coordinates, shape (3,); near the body, cancellation is small.

    Source: Eberly, "Polyhedral Mass Properties (Revisited)", exact integrals over triangles.
    """
    p = np.moveaxis(corners - start, 1, 0)
    a, b, c = p
    n = np.cross(b - a, c - a)
    sums = a + b + c
    squares = a * a + b * (a + b) + c * sums
    cubes = a**3 + b * (a * a + b * (a + b)) + c * squares
    volume = (n * sums)[:, 0].sum() / 6.0
    if volume == 0.0:
        return 0.0, start, np.zeros((3, 3))
    centre = (n * squares).sum(axis=0) / 24.0 / volume
    following = [1, 2, 0]
    mixed = (p[:, :, following] * (squares + p * (sums + p))).sum(axis=0)
    moments = np.diag((n * cubes).sum(axis=0) / 60.0)
    moments[range(3), following] = moments[following, range(3)] = (n * mixed).sum(axis=0) / 120.0
    moments = moments / volume - np.outer(centre, centre)
    return float(volume), start + centre, np.trace(moments) * np.eye(3) - moments
