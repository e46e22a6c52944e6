"""Mass and inertia of a homogeneous body from its surface."""

from __future__ import annotations

import numpy as np

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass, RigidMassData
from sofa_softctl.runtime.core.data.types import Elements, Real, Vector, Vectors
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.source_line import describe

_CLOSED = 1e-6  # sum of the area vectors of a closed surface, relative to its area


class GenerateRigidMass(Engine):
    """Mass, volume, centre and inertia of what a closed surface holds.

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
        3, [], "Inertia about the centre, divided by the mass.", unit="length^2", computed=True
    )
    massCenter = Vector(3, [0.0, 0.0, 0.0], "Centre of mass.", unit="length", computed=True)
    centerToOrigin = Vector(
        3, [0.0, 0.0, 0.0], "From the centre of mass to the origin.", unit="length", computed=True
    )

    def init(self) -> None:
        """Compute for the first time."""
        super().init()
        self._ready = True
        self.update_outputs()

    def compute(self) -> None:
        """See Engine.

        Raises:
            SceneError: there is no surface, or it holds no volume.
        """
        if not self._ready:
            return
        volume, centre, inertia = solid_of(self.position.get()[self._surface()])
        if not volume > 0.0:
            raise self.fault(
                f"finds the volume {volume:g}: the triangles must enclose something and be wound "
                "counter-clockwise as seen from outside."
            )
        mass = volume * self.density.get()
        self.rigidMass.set(str(RigidMass(mass, volume, tuple(inertia.ravel()))))
        self.mass.set(mass)
        self.volume.set(volume)
        self.inertiaMatrix.set(inertia)
        self.massCenter.set(centre)
        self.centerToOrigin.set(-centre)

    def _surface(self) -> np.ndarray:
        """Triangles, those of the quads included, shape (t, 3)."""
        quads = self.quads.get()
        found = np.concatenate([self.triangles.get(), quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        points = self.position.get()
        if not len(found):
            raise self.fault("needs 'triangles' or 'quads' that enclose a body.")
        self.check_own_numbers()
        a, b, c = np.moveaxis(points[found], 1, 0)
        areas = np.cross(b - a, c - a)
        if np.linalg.norm(areas.sum(axis=0)) > _CLOSED * np.linalg.norm(areas, axis=1).sum():
            message.warning(
                self, f"{describe(self._where)}: {self.describe()} has a surface with holes."
            )
        return found


def solid_of(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre (3,), and inertia about the centre divided by the mass (3, 3).

    Args:
        corners: Of the triangles that enclose the solid, shape (t, 3, 3).

    Source: sums over the tetrahedra from one point to the triangles, with the exact integrals of
    x and x x^T over a tetrahedron.
    """
    start = corners.reshape(-1, 3).mean(axis=0)
    p = corners - start  # near the body, where little cancels
    six = np.einsum("ti,ti->t", p[:, 0], np.cross(p[:, 1], p[:, 2]))  # 6 volume of each
    total = p.sum(axis=1)
    volume = six.sum() / 6.0
    centre = six @ total / 24.0 / volume if volume else np.zeros(3)
    second = np.einsum("t,tki,tkj->ij", six, p, p) + np.einsum("t,ti,tj->ij", six, total, total)
    second = second / 120.0 / volume - np.outer(centre, centre) if volume else np.zeros((3, 3))
    inertia = np.trace(second) * np.eye(3) - second
    return float(volume), start + centre, (inertia + inertia.T) / 2.0
