"""Rigid bodies: surfaces given in the other axes, masses and inertias that do not fit them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sofa_softctl.runtime.components.mass.rigid_mass import RigidMass
from sofa_softctl.runtime.mesh.skin import measure_skin
from sofa_softctl.scene.graph.nodes import nodes_of
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at, is_followed, point
from sofa_softctl.scene.plausibility.holding import HOLDS_NOTHING
from sofa_softctl.scene.plausibility.materials import DENSITIES, excess
from sofa_softctl.scene.plausibility.places.surfaces import triangles_of
from sofa_softctl.units import Units

INERTIA_RATIO_MAX = 10.0
"""Moment of inertia by the moment of the body's shape, or the inverse, above which it is wrong [-].
A thin shell has 2.5 times the moment of a solid of its mass."""
TRIANGLE_TOLERANCE = 0.01
"""Excess of the largest principal moment over the sum of the others, by it, that rounding explains.
"""
SCALAR_FIRST = (0.9, 0.999)
"""First number of a quaternion x y z w that is probably a w: turns of 5 to 52 degrees."""
_USES_FRAME = re.compile(
    r"MechanicalObject|RestShapeSprings.*|(Uniform|Diagonal)Mass|.*(Solver|Correction|Fixed.*)"
)
"""Classes of components of a rigid body that give its frames no use."""
SCALAR_LAST_MIN = 0.05
"""Last number of such a quaternion, below which it may be half a turn [-]."""


@dataclass(frozen=True)
class RigidSurface:
    """A surface that a RigidMapping carries."""

    mapping: Any
    x: np.ndarray
    """Points in the axes of the body [length], shape (n, 3)."""
    volume: float
    """Volume that it encloses [length^3], 0 if it is open."""
    inertia: np.ndarray
    """Inertia matrix of what it encloses, or else of the box around it, by mass [length^2]."""


def rigid_body_warnings(bodies: Sequence[Body], units: Units | None) -> list[StartWarning]:
    """Warn of rigid bodies whose mass, inertia, axes or points do not fit."""
    rigid = [body for body in bodies if np.shape(body.state.position.value)[1] == 7]
    return [warning for body in rigid for warning in _of_body(body, rigid, units)]


def _of_body(body: Body, rigid: Sequence[Body], units: Units | None) -> Iterator[StartWarning]:
    surfaces = list(_surfaces(body))
    yield from _scalar_first(body, rigid)
    yield from _idle_frames(body)
    misplaced = [warning for surface in surfaces for warning in _in_other_axes(body, surface)]
    yield from misplaced
    for mass in body.node.objects:
        if mass.getClassName() == "UniformMass" and body.count == 1:
            yield from _impossible(mass)
            if surfaces and not misplaced:
                surface = max(surfaces, key=lambda component: component.volume)
                if units is not None and surface.volume > 0.0:
                    yield from _density(mass, surface, units)
                if all(_leaves_free(component) for component in body.entries):
                    yield from _inertia(mass, surface)


def _idle_frames(body: Body) -> Iterator[StartWarning]:
    """Warn of frames without use, as all points hang on the first one."""
    kinds = {component.getClassName() for component in body.node.objects}
    mappings = [m for n in nodes_of(body.node)[1:] if (m := n.getMechanicalMapping()) is not None]
    if body.count < 2 or not mappings or not all(map(_USES_FRAME.fullmatch, kinds)):
        return
    is_default = all(
        m.getClassName() == "RigidMapping"
        and not (m.index.isSet() or len(np.ravel(m.rigidIndexPerPoint.value)))
        for m in mappings
    )
    if is_default and not is_followed([body.state], body.entries):
        yield StartWarning(
            mappings[0],
            f"{at(mappings[0])} hangs all its points on frame 0, the default, and nothing hangs on "
            f"the others of the {body.count} of '{body.node.getPathName()}'. Give 'index', or "
            "rigidIndexPerPoint.",
        )


def _surfaces(body: Body) -> Iterator[RigidSurface]:
    """Yield the surfaces that follow a body."""
    for node in nodes_of(body.node):
        mapping = node.getMechanicalMapping()
        if mapping is None or mapping.getClassName() != "RigidMapping":
            continue
        topology = next((e for e in node.objects if len(triangles_of(e))), None)
        x = np.asarray(mapping.initialPoints.value, dtype=float).reshape(-1, 3)
        if topology is None or (triangles := triangles_of(topology)).max() >= len(x):
            continue
        skin = measure_skin(x, triangles)
        if skin.is_closed and abs(skin.volume) > 0.0:
            yield RigidSurface(mapping, x, abs(skin.volume), _solid_inertia(x, triangles))
        else:
            extents = np.ptp(x, axis=0)
            inertia = np.diag((extents @ extents - extents**2) / 12.0)
            yield RigidSurface(mapping, x, 0.0, inertia)


def _solid_inertia(x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the inertia matrix about its centre of what a surface encloses, by mass [length^2].

    The sum over tetrahedra from the first point to each triangle, of which the integral of x x^T is
    the volume times (sum of v v^T + s s^T) / 20, with corners v and their sum s.
    """
    corners = (x - x[:1])[triangles]  # (k, 3, 3)
    a, b, c = np.moveaxis(corners, 1, 0)
    volumes = np.einsum("ki,ki->k", a, np.cross(b, c)) / 6.0
    total, sums = volumes.sum(), corners.sum(axis=1)
    second = np.einsum("k,kvi,kvj->ij", volumes, corners, corners)
    second += np.einsum("k,ki,kj->ij", volumes, sums, sums)
    centre = volumes @ sums / (4.0 * total)
    spread = second / (20.0 * total) - np.outer(centre, centre)
    return np.asarray(np.trace(spread) * np.eye(3) - spread)


def _leaves_free(component: Any) -> bool:
    kind = component.getClassName()
    return kind.endswith("CollisionModel") or HOLDS_NOTHING.fullmatch(kind) is not None


def _in_other_axes(body: Body, surface: RigidSurface) -> Iterator[StartWarning]:
    """Warn of points that are taken in the axes of the body instead of the world, or vice versa."""
    mapping = surface.mapping
    bodies = np.ravel(mapping.rigidIndexPerPoint.value)
    index = int(mapping.index.value)
    frames = np.asarray(body.state.position.value, dtype=float)
    if len(bodies) or mapping.indexFromEnd.value or index >= len(frames):
        return
    centre, rotation = frames[index, :3], _matrix(frames[index, 3:])
    is_global = bool(mapping.globalToLocalCoords.value)
    x = surface.x @ rotation.T + centre if is_global else (surface.x - centre) @ rotation
    if _contains(surface.x) or not _contains(x):
        return
    axes, fitting = ("the world's", "the body's") if is_global else ("the body's", "the world's")
    remedy = "Leave globalToLocalCoords out" if is_global else "Give globalToLocalCoords=True"
    low, high = surface.x.min(axis=0), surface.x.max(axis=0)
    yield StartWarning(
        mapping,
        f"{at(mapping)}: the centre of body {index} of '{body.node.getPathName()}' lies outside "
        f"its surface, which reaches from {point(low)} to {point(high)} in the axes of the body: "
        f"its points are taken in {axes} axes, and would fit in {fitting}. {remedy}.",
    )


def _contains(x: np.ndarray) -> bool:
    """Return True if the box around points contains the origin."""
    return bool(((x.min(axis=0) < 0.0) & (x.max(axis=0) > 0.0)).all())


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion x y z w, shape (3, 3)."""
    v, w = quaternion[:3], quaternion[3]
    cross = np.cross(np.eye(3), v)
    return np.asarray(np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross)


def _scalar_first(body: Body, rigid: Sequence[Body]) -> Iterator[StartWarning]:
    """Warn of a quaternion that is a smaller rotation if its first number is w."""
    turns = np.asarray(body.state.position.value, dtype=float)[:, 3:]
    size = np.abs(turns)
    low, high = SCALAR_FIRST
    is_suspect = (size[:, 0] > low) & (size[:, 0] < high) & (size[:, 3] > SCALAR_LAST_MIN)
    if not is_suspect.any():
        return
    k = int(np.argmax(is_suspect))
    if (size[k, 1:3] < 1e-6).all():  # about x, as bodies are that stand around this axis
        about_x = [np.asarray(a.state.position.value, dtype=float)[:, 3] for a in rigid]
        if (np.abs(np.concatenate(about_x)) > SCALAR_LAST_MIN).sum() > 1:
            return
    angle, less = (math.degrees(2.0 * math.acos(min(1.0, size[k, i]))) for i in (3, 0))
    numbers = " ".join(f"{value:.4g}" for value in turns[k])
    yield StartWarning(
        body.state,
        f"{at(body.state)}: the quaternion {numbers} of body {k} is a turn of {angle:.0f} degrees, "
        f"for the order is x y z w; with w first it would be one of {less:.0f}. Is it in the order "
        "w x y z?",
    )


def _rigid_mass(mass: Any) -> RigidMass | None:
    try:
        return RigidMass.of(str(mass.vertexMass.value))
    except ValueError:  # a text of another version of SOFA
        return None


def _impossible(mass: Any) -> Iterator[StartWarning]:
    """Warn of principal moments that no distribution of mass has."""
    rigid = _rigid_mass(mass)
    if rigid is None:
        return
    matrix = np.reshape(rigid.inertia, (3, 3))
    smallest, middle, largest = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    if largest - smallest - middle <= TRIANGLE_TOLERANCE * largest:
        return
    yield StartWarning(
        mass,
        f"{at(mass)}: no body has the inertia of its vertexMass, with principal moments of "
        f"{smallest:.3g}, {middle:.3g} and {largest:.3g} by mass: two of them are never less than "
        "the third. Is the matrix about the centre of mass, and are its numbers in order?",
    )


def _inertia(mass: Any, surface: RigidSurface) -> Iterator[StartWarning]:
    """Warn of an inertia far from the inertia of the body's shape."""
    rigid = _rigid_mass(mass)
    expected = float(np.trace(surface.inertia))
    if rigid is None or not expected > 0.0:
        return
    moments = rigid.inertia[0] + rigid.inertia[4] + rigid.inertia[8]
    if 1.0 / INERTIA_RATIO_MAX <= moments / expected <= INERTIA_RATIO_MAX:
        return
    diagonal = " ".join(f"{value:.3g}" for value in np.diag(surface.inertia))
    reason = "without a matrix it is that of 1 1 1" if moments == 3.0 else "is it in other units"
    if rigid.mass != 1.0 and moments != 3.0 and _is_alike(moments, rigid.mass * expected):
        reason = "it is by mass: do not multiply it by the mass"
    yield StartWarning(
        mass,
        f"{at(mass)}: the moments of inertia by mass of its vertexMass are {rigid.inertia[0]:.3g} "
        f"{rigid.inertia[4]:.3g} {rigid.inertia[8]:.3g} [length^2], and those of the surface that "
        f"it carries {diagonal}: it turns {'too fast' if moments < expected else 'too slowly'} "
        f"({reason}). Give vertexMass='{rigid.mass:g} {surface.volume:.4g} [...]' with them.",
    )


def _is_alike(value: float, expected: float) -> bool:
    return expected / INERTIA_RATIO_MAX < value < INERTIA_RATIO_MAX * expected


def _density(mass: Any, surface: RigidSurface, units: Units) -> Iterator[StartWarning]:
    """Warn of a mass that no material has in this volume."""
    rigid = _rigid_mass(mass)
    if rigid is None:
        return
    density = rigid.mass / surface.volume
    si = units.in_si("mass") / units.in_si("length") ** 3
    if text := excess(density, si, DENSITIES, f"{units.mass}/{units.length}^3", "kg/m^3"):
        yield StartWarning(
            mass,
            f"{at(mass)} gives the body a mass of {rigid.mass:g}, and its surface encloses "
            f"{surface.volume:.4g}, a density of {density:.3g}: {text}",
        )
