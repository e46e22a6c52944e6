"""Elastic bodies of a scene at rest: elements, what holds them, and the loads on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from sofa_softctl.runtime.behavior.roles import (
    Cable,
    Cavity,
    ElasticForceField,
    HyperelasticForceField,
)
from sofa_softctl.runtime.behavior.solvers import MechanicalSystem
from sofa_softctl.runtime.mesh.checks import signed_volumes
from sofa_softctl.runtime.simulation.jacobian import mappings_above, total_jacobian
from sofa_softctl.runtime.simulation.simulation import loop_of
from sofa_softctl.scene.mesh_error.elements import LOCKING, NOT_LOCKING, Elements
from sofa_softctl.scene.mesh_error.result import WEIGHT

POISSON_RATIO_MAX = 0.4999
"""Largest Poisson's ratio of an estimate: above, changes of volume are only rounding [-]."""
SUPPORT_RATIO_MAX = 100.0
"""Stiffness of springs on a node by that of an element, above which they hold it as a clamp: on
finer meshes they hold the nodes between such nodes, too [-]."""
_MEASURES = ("cableLength", "cavityVolume")
"""Outputs of actuators that computing their directions changes."""


@dataclass(frozen=True, eq=False)
class ElasticBody:
    """Elements on one state, with what holds and loads them at rest."""

    path: str
    """Path of the state."""
    element: str
    """Class of its force field, the first one if there are several."""
    parts: list[Elements]
    """Elements of each of its force fields, all of tetrahedra or all of hexahedra."""
    motion: sparse.csr_array
    """Derivative of its nodes by what can move, zero where they are fixed, shape (3 n, 3 k)."""
    support: sparse.csr_array
    """Stiffness of springs and skins on its nodes [force/length], shape (3 n, 3 n)."""
    loads: dict[str, np.ndarray]
    """Forces on its nodes by their cause: "its weight", paths of actuators; shapes (n, 3)."""


def elastic_bodies(root: Any) -> Iterator[tuple[str, ElasticBody | str]]:
    """Yield the path of each state with elements of solids, and its body, or why there is none.

    Positions, forces and outputs of the scene stay as they are.

    Args:
        root: Root of an initialised scene of the embedded runtime.
    """
    loop: Any = loop_of(root)
    for system in loop.systems:
        fields_of: dict[int, list[Any]] = {}
        for field in system.force_fields:
            if _element_of(field) and len(field.elements):
                fields_of.setdefault(id(field.state), []).append(field)
        for fields in fields_of.values():
            path = fields[0].state.getPathName()
            yield path, _reason(system, fields) or _body(root, system, path, fields)


def _element_of(field: Any) -> str:
    """Return the class of a force field's element, of LOCKING or NOT_LOCKING, or ""."""
    kind = str(field.getClassName())
    if kind == NOT_LOCKING:
        return kind
    if kind.endswith(LOCKING[8]):
        return LOCKING[8]
    is_solid = isinstance(field, ElasticForceField | HyperelasticForceField)
    return LOCKING[4] if is_solid and hasattr(field, "elements") else ""


def _reason(system: MechanicalSystem, fields: list[Any]) -> str:
    """Return why a state's mesh cannot be judged, or ""."""
    state = fields[0].state
    if len({field.elements.shape[1] for field in fields}) > 1:
        return "it mixes tetrahedra and hexahedra"
    if not any(_elements(field).young.max() > 0.0 for field in fields):
        return "its elements have no stiffness"
    mappings = mappings_above(state, system)
    if not all(mapping.has_constant_weights for mapping in mappings) and _has_moved(state):
        return "some of its nodes turn with rigid bodies, which have moved"
    return ""


def _has_moved(state: Any) -> bool:
    return bool(state.getContext().getRootContext().time.get() > 0.0)


def _body(root: Any, system: MechanicalSystem, path: str, fields: list[Any]) -> ElasticBody:
    state = fields[0].state
    motion = total_jacobian(state, system)
    moves = sparse.diags_array((~system.identity.ravel()).astype(float))
    carried = {
        id(carried_state): jacobian
        for carried_state in system.all_states
        if (jacobian := _jacobian(carried_state, state, system)) is not None
    }
    parts = [_elements(field) for field in fields]
    support = _support(system, state, carried)
    stiffness = max(float(part.young.max()) * part.edge_length for part in parts)
    is_held = support.diagonal() > SUPPORT_RATIO_MAX * stiffness
    return ElasticBody(
        path,
        fields[0].getClassName(),
        parts,
        sparse.csr_array(sparse.diags_array((~is_held).astype(float)) @ motion @ moves),
        support,
        {**_weight(system, carried), **_pulls(root, state, carried, fields[0].x0)},
    )


def _elements(field: Any) -> Elements:
    cells, kind = field.elements, _element_of(field)
    if isinstance(field, HyperelasticForceField):
        shear, bulk = field.rest_moduli()
        lam = bulk - 2.0 / 3.0 * shear
    elif kind == LOCKING[8]:
        lam, shear = field.lame.T
    else:
        volumes = np.abs(signed_volumes(field.x0, cells))
        lam, shear = field.stiffness.T / volumes
    total = np.where(lam + shear > 0.0, lam + shear, 1.0)
    young = shear * (3.0 * lam + 2.0 * shear) / total
    poisson = np.clip(0.5 * lam / total, 0.0, POISSON_RATIO_MAX)
    quadratic = kind == NOT_LOCKING and bool(field.quadratic.get())
    return Elements(field.x0, cells, young, poisson, kind, quadratic)


def _jacobian(follower: Any, state: Any, system: MechanicalSystem) -> sparse.csr_array | None:
    """Return the derivative of a state's nodes by another one's, or None without any."""
    if follower is state:
        return sparse.eye_array(3 * state.block_count, format="csr")
    mapping = system.mapping_of.get(id(follower))
    if mapping is None or not mapping.has_constant_weights:
        return None
    parts = [
        mapping.jacobian(number) @ jacobian
        for number, driver in enumerate(mapping.drivers)
        if (jacobian := _jacobian(driver, state, system)) is not None
    ]
    return sparse.csr_array(sum(parts[1:], start=parts[0])) if parts else None


def _support(
    system: MechanicalSystem, state: Any, carried: dict[int, sparse.csr_array]
) -> sparse.csr_array:
    """Return the stiffness of everything else on a state, at the present positions."""
    size = 3 * state.block_count
    total = sparse.csr_array((size, size))
    for field in system.force_fields:
        jacobian = carried.get(id(field.state))
        if jacobian is None or field.damps or (field.state is state and _element_of(field)):
            continue
        before = field.snapshot()
        field.add_force(np.zeros_like(field.state.force.get()))
        total += jacobian.T @ field.assemble_csr(1.0) @ jacobian
        field.restore(before)  # such as the pulse of a pressure, which advances with each force
    return sparse.csr_array(total)


def _weight(
    system: MechanicalSystem, carried: dict[int, sparse.csr_array]
) -> dict[str, np.ndarray]:
    total: Any = 0.0
    for mass in system.masses:
        jacobian = carried.get(id(mass.state))
        if jacobian is not None:
            force = np.zeros_like(mass.state.force.get())
            node: Any = mass.getContext()
            mass.add_gravity(force, node.gravity.get())
            total = total + (jacobian.T @ force.ravel()).reshape(-1, 3)
    return {WEIGHT: total} if np.any(total) else {}


def _pulls(
    root: Any, state: Any, carried: dict[int, sparse.csr_array], x0: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the forces of unit efforts of the cables and cavities at rest."""
    forces = {}
    for node in root.walk():
        for actuator in node.of("constraint"):
            if not isinstance(actuator, Cable | Cavity):
                continue
            jacobian = carried.get(id(actuator.state))
            if jacobian is not None:
                moved = jacobian @ (x0 - state.position.get()).ravel()
                force = jacobian.T @ _direction(actuator, moved.reshape(-1, 3)).ravel()
                forces[actuator.getPathName()] = force.reshape(-1, 3)
    return forces


def _direction(actuator: Any, moved: np.ndarray) -> np.ndarray:
    """Return the force of a unit effort with the points of an actuator moved, shape (p, 3)."""
    data = actuator.state.position
    present = data.get().copy()
    shown = {name: actuator.findData(name) for name in _MEASURES}
    values = {name: shown[name].get() for name in _MEASURES if shown[name] is not None}
    try:
        np.copyto(data.get(), present + moved)
        data.touch()
        _, nodes, directions = actuator.build()
        force: np.ndarray = np.zeros_like(present)
        np.add.at(force, nodes, directions)
    finally:
        np.copyto(data.get(), present)
        data.touch()
        for name, value in values.items():
            shown[name].set(value)
    return force
