"""Warnings about bodies: implausible moduli or masses, doubled or overlapping elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.runtime.mesh.mesh import Mesh
from sofa_softctl.runtime.mesh.skin import overlaps, rows_as_keys
from sofa_softctl.scene.plausibility.bodies import Body, StartWarning, at
from sofa_softctl.units import Units

DENSITIES = (10.0, 25_000.0)
"""Densities of materials, from light foam to above osmium, the densest metal [kg/m^3]."""
MODULI = (100.0, 1e12)
"""Young's moduli of the softest gel and of diamond [Pa]."""


def material_warnings(bodies: Sequence[Body], units: Units | None) -> list[StartWarning]:
    """Return warnings about moduli and masses that are not positive, or in another unit."""
    warnings = [
        warning
        for body in bodies
        for warning in (*_moduli(body), *_masses(body), *_without_material(body))
    ]
    if units is not None:
        warnings += [
            warning
            for body in bodies
            if body.elastic
            for warning in _implausible_values(body, units)
        ]
    return warnings


def _implausible_values(body: Body, units: Units) -> Iterator[StartWarning]:
    """Warn about a density or modulus that no material has."""
    for field in body.with_data("youngModulus"):
        modulus = float(np.max(np.abs(field.youngModulus.value), initial=0.0))
        if text := excess(modulus, units.in_si("pressure"), MODULI, units.symbol("pressure"), "Pa"):
            yield StartWarning(field, f"{at(field)} has youngModulus={modulus:g}: {text}")
    volume = body.volume
    masses = [mass for mass in body.masses if mass.findData("totalMass") is not None]
    if volume > 0.0 and masses:
        density = float(masses[0].totalMass.value) / volume
        si = units.in_si("mass") / units.in_si("length") ** 3
        unit = f"{units.mass}/{units.length}^3"
        if density > 0.0 and (text := excess(density, si, DENSITIES, unit, "kg/m^3")):
            yield StartWarning(
                masses[0],
                f"{at(masses[0])} has totalMass={float(masses[0].totalMass.value):g}, a density of "
                f"{density:.3g}: {text}",
            )


def excess(value: float, si: float, limits: tuple[float, float], unit: str, si_unit: str) -> str:
    """Return a sentence if a positive value is beyond the limits in SI units, else ''."""
    if value <= 0.0 or limits[0] <= value * si <= limits[1]:
        return ""
    return (
        f"in {unit} that is {value * si:.3g} {si_unit}, and materials have {limits[0]:g} to "
        f"{limits[1]:g}. Is it in another unit, or is UNITS?"
    )


def _moduli(body: Body) -> list[StartWarning]:
    warnings = []
    for field in body.with_data("youngModulus"):
        values = np.ravel(np.asarray(field.youngModulus.value, dtype=float))
        bad = np.flatnonzero(~(values > 0.0))
        if len(bad):
            count = f" in {len(bad)} of {len(values)} entries, first {bad[0]}"
            warnings.append(
                StartWarning(
                    field,
                    f"{at(field)} has youngModulus={values[bad[0]]:g}"
                    f"{count if len(values) > 1 else ''}: without stiffness nothing keeps the "
                    "elements in shape. Give a positive modulus, in force/length^2 of the scene.",
                )
            )
    return warnings


def _masses(body: Body) -> list[StartWarning]:
    """Warn about masses that are not positive: only SOFA continues with them."""
    warnings = []
    for mass in body.masses:
        total = mass.findData("totalMass")
        if total is not None and not float(total.value) > 0.0:
            warnings.append(
                StartWarning(
                    mass,
                    f"{at(mass)} has totalMass={float(total.value):g}: a body needs a positive "
                    "mass. Give totalMass, or massDensity in mass/length^3 of the scene.",
                )
            )
    return [*warnings, *_massless_nodes(body)]


def _massless_nodes(body: Body) -> Iterator[StartWarning]:
    """Warn of nodes of elements that none of several partial masses covers."""
    path = body.node.getPathName()
    masses = [mass for mass in body.masses if mass.getContext().getPathName() == path]
    parts = [mass.findData("indices") for mass in masses]
    if not (body.elastic and len(body.elements) and masses):
        return
    if any(part is None or not len(part.value) for part in parts):
        return
    covered = np.unique(np.concatenate([np.asarray(part.value, dtype=int) for part in parts]))
    bare = np.setdiff1d(body.elements, covered)
    if len(bare):
        yield StartWarning(
            masses[0],
            f"{at(masses[0])} gives mass to {len(covered)} of {body.count} nodes by its 'indices', "
            f"and {len(bare)} nodes of elements have none, the first {bare[0]}: neither gravity "
            "nor inertia acts there. Leave 'indices' out, or add a mass for the others.",
        )


def _without_material(body: Body) -> Iterator[StartWarning]:
    """Warn of elements with mass and without stiffness."""
    kinds = [component.getClassName() for component in body.entries]
    if not len(body.elements) or body.elastic or not body.masses:
        return
    if any(re.search("ForceField|Spring|FEM", kind) for kind in kinds):
        return
    if not any("OdeSolver" in component.getCategories() for component in body.node.objects):
        return
    yield StartWarning(
        body.state,
        f"{at(body.state)} has {len(body.elements)} elements with mass, and no force field gives "
        "them stiffness: each node moves on its own. Add a TetrahedronFEMForceField or the like.",
    )


def mesh_warnings(bodies: Sequence[Body]) -> list[StartWarning]:
    """Return warnings about the elements of elastic bodies, as `softctl info` has for files."""
    return [warning for body in bodies if body.elastic for warning in _mesh_faults(body)]


def _mesh_faults(body: Body) -> Iterator[StartWarning]:
    if body.elements.shape[1] == 4 and len(body.elements):
        for text in (*_faults(body.rest, body.elements), *_left_out(body)):
            yield StartWarning(body.topology, f"{at(body.topology)}: {text}")
    elif len(body.elements) and (signed_volumes(body.rest, body.elements) < 0.0).all():
        yield StartWarning(
            body.topology,
            f"{at(body.topology)}: all {len(body.elements)} hexahedra are inside out. Is a number "
            "of the grid's 'min' above that of 'max', or is it mirrored by a negative scale?",
        )


def _left_out(body: Body) -> Iterator[str]:
    """Warn of points after the last one that an element uses; states omit them, as in SOFA."""
    data = body.topology.findData("position")
    count = 0 if data is None else len(data.value)
    if count > body.count > int(body.elements.max()):
        yield (
            f"the last {count - body.count} of its {count} points belong to no element, and the "
            "state has none of them, as in SOFA. Leave them out, or was an element forgotten?"
        )


def _faults(x: np.ndarray, elements: np.ndarray) -> Iterator[str]:
    if faces := overlaps(Mesh(x, tetrahedra=elements)):
        total, distinct = len(elements), len(np.unique(rows_as_keys(elements)))
        yield (
            f"{total - distinct} of {total} tetrahedra are there twice: the body is stiffer "
            "there, and heavier, than its material. Leave the copies out."
            if distinct < total
            else f"tetrahedra overlap at {faces} faces: some are folded over, or two meshes lie in "
            "one another. Mesh again, and look at it with 'softctl info'."
        )
    is_used = np.zeros(len(x), dtype=bool)
    is_used[elements] = True
    nodes = np.flatnonzero(is_used)
    unused = len(x) - len(nodes)
    if unused:
        yield (
            f"{unused} of {len(x)} nodes belong to no tetrahedron: they have mass and no "
            "stiffness, and fall freely. Leave them out."
        )
    size = float(np.ptp(x, axis=0).max()) or 1.0
    rounded = np.round(x[nodes] / (1e-9 * size))
    ordered = rounded[np.lexsort(rounded.T)]
    coincident = int((ordered[1:] == ordered[:-1]).all(axis=1).sum())
    if coincident:
        yield (
            f"{coincident} nodes lie where another one lies: elements are not joined there. Merge "
            "equal nodes."
        )
