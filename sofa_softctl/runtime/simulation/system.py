"""Mechanical system of one integrator: states, mapped states, masses, forces."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.mechanics import (
    Contribution,
    ForceField,
    Mass,
    ProjectiveConstraint,
)
from sofa_softctl.runtime.behavior.solvers import LinearSolver, MechanicalSystem, OdeSolver
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.behavior.state_vectors import StateVectors
from sofa_softctl.runtime.helper.message import complain, keeps_sofa_defects
from sofa_softctl.runtime.simulation.followers import driver_arrays, group_followers


class GraphSystem(MechanicalSystem):
    """States, masses and forces below one integrator, in the order of the graph."""

    def __init__(self, solver: OdeSolver) -> None:
        assert solver._context is not None
        self.solver = solver
        self.nodes = list(solver._context.walk())
        mappings: list[Mapping] = [e for e in self._components("mapping") if e.mechanical]
        self.masses: list[Mass] = self._components("mass")
        self.force_fields: list[ForceField] = self._components("force field")
        joints = [joint for field in self.force_fields if (joint := field.joint())]
        mappings += joints
        self.geometric = [
            m.geometric for m in mappings if m.geometric is not None and m.mapForces.get()
        ]
        self.force_fields += self.geometric
        self.projective: list[ProjectiveConstraint] = self._components("projective constraint")
        states: list[MechanicalState] = self._components("state")
        followers = {id(mapping.child) for mapping in mappings}
        self.states = [state for state in states if id(state) not in followers]
        self._set_mappings(mappings, joints)
        self._lasting = (self.mappings, self.force_fields)
        self._create_vectors([m.child for m in mappings if m not in joints])
        self._check()
        self.linear_solver = self._linear_solver()
        self.fixed, self.identity = self.unused.copy(), self.unused.copy()
        self._masks: list[np.ndarray] = []
        self._fixing = [c for c in self.projective if id(c.state) in self.offset]
        self._projecting = [
            constraint
            for constraint in self.projective
            if type(constraint).project_response is not ProjectiveConstraint.project_response
        ]
        self.update_fixed()

    def push(self, contacts: Sequence[ForceField]) -> None:
        """Replace the penalty contacts of a step."""
        mappings, force_fields = self._lasting
        joints = [joint for field in contacts if (joint := field.joint())]
        self.force_fields = [*force_fields, *contacts]
        self._set_mappings([*mappings, *joints], joints)
        self._group_followers()
        if self.solver.has_matrix:
            self.linear_solver.renew()

    def _set_mappings(self, mappings: list[Mapping], joints: list[Any]) -> None:
        """Set the mappings; joints may have drivers outside of the system."""
        self.mappings = mappings
        self.mapping_of = {id(mapping.child): mapping for mapping in mappings}
        self.mapped = [mapping.child for mapping in mappings]
        system_ids = {id(state) for state in self.all_states}
        self._states = self.all_states
        acted_on = self.acted_on()
        self._loaded = [mapping for mapping in mappings if id(mapping.child) in acted_on]
        for joint in joints:
            joint.outside = {id(driver) for driver in joint.drivers} - system_ids

    def _components(self, category: str) -> list[Any]:
        return [item for node in self.nodes for item in node.of(category)]

    def _create_vectors(self, followers: Sequence[MechanicalState]) -> None:
        self.vectors = StateVectors(self.states, followers)
        self.size = self.vectors.size
        self.offset = {id(state): self.vectors.first[id(state)] for state in self.states}
        self.v = self.vectors.velocity[: self.size]
        self.v_free = self.vectors.free_velocity[: self.size]
        self.force = self.vectors.force[: self.size]
        self._has_only_points = all(map(self.vectors.has_points, self.states))
        self.unused = np.ones((self.size, 3), dtype=bool)  # where joints do not fill a row
        for state in self.states:
            self.part(self.unused, state)[:] = False
        self._group_followers()

    def _group_followers(self) -> None:
        self.followers = group_followers(self.mappings, self.vectors)
        self._separate = [state for state in self.mapped if id(state) not in self.vectors.first]

    def check_vectors(self) -> None:
        """Adapt to Data of states that have another array, and to mappings with other weights."""
        if not self.vectors.are_shared():
            self.vectors.share()
        if not all(group.is_current() for group in self.followers):
            self._group_followers()

    @override
    def part(self, array: np.ndarray, state: MechanicalState) -> np.ndarray:
        return self.vectors.part(array, state)

    def _check(self) -> None:
        fields = [field for field in self.force_fields if field.state]
        if fields and not self.masses and not self.solver.works_without_mass():
            problem = self.solver.fault(
                f"has force fields below it ({fields[0].describe()}) but no mass. Add a "
                "UniformMass with totalMass to the node of the MechanicalObject."
            )
            complain(self.solver, problem)

    def settle(self) -> None:
        """Apply projective constraints to positions and velocities, then compute followers."""
        apply_projections(self.projective)
        self.propagate()

    @override
    def acted_on(self) -> set[int]:
        ids = {id(component.state) for component in (*self.masses, *self.force_fields)}
        for mapping in reversed(self.mappings):
            if id(mapping.child) in ids:
                ids.update(id(driver) for driver in mapping.drivers)
        return ids

    def check_drivers(self, moved: set[int]) -> None:
        """Raise a SceneError if another integrator moves a driver of a mapping."""
        system_ids = {id(state) for state in self.all_states}
        for mapping in self.mappings:
            for driver in mapping.drivers:
                if id(driver) in moved and id(driver) not in system_ids:
                    raise mapping.fault(
                        f"is driven by {driver.describe()}, which another time integrator moves "
                        f"than {self.solver.describe()}: put both below one integrator."
                    )

    def _linear_solver(self) -> LinearSolver:
        context = self.solver._context
        assert context is not None
        solver: Any = self.solver._links["linearSolver"].getLinkedBase()
        candidates = (item for node in context.walk() for item in node.of("linear solver"))
        solver = solver or next(candidates, None)
        if solver is None and self.solver.needs_linear_solver:
            raise self.solver.fault(
                "needs a linear solver: add a SparseLDLSolver to its node "
                f"'{context.getPathName()}'."
            )
        return solver

    # -- vectors -------------------------------------------------------------------------------

    @override
    def compute_force(self, *, mass_factor: float = 0.0, stiffness_factor: float = 0.0) -> None:
        self._clear_forces()
        pushed = [state for state in self._states if len(state.externalForce.get())]
        for state in pushed:
            force = state.force.get()
            force += state.outer_force()
        has_unloaded_followers = all(id(state) in self.offset for state in pushed)
        loaded = self._loaded if has_unloaded_followers else self.mappings
        is_one_pass = stiffness_factor and not self.geometric
        for field in self.force_fields:
            force, v = self._vectors(field)
            if is_one_pass and not field.damps:
                field.add_force_and_product(force, v, stiffness_factor)
            else:
                field.add_force(force)
        for mass in self.masses:
            if not mass.separateGravity.get():
                assert mass._context is not None
                mass.add_gravity(self._vectors(mass)[0], mass._context.gravity.get())
        if self.geometric:
            self._gather(self.mappings)
            self._update_geometric()
        if stiffness_factor and not is_one_pass:
            for field in self.force_fields:
                if not field.damps:
                    field.add_product(*self._vectors(field), stiffness_factor)
        if mass_factor:
            for mass in self.masses:
                mass.add_product(*self._vectors(mass), mass_factor)
        self._gather(loaded)

    @override
    def gather(self) -> None:
        self._gather(self.mappings)

    def _update_geometric(self) -> None:
        """Update geometric stiffnesses, which depend on the forces without mass and stiffness."""
        for stiffness in self.geometric:
            stiffness.update(1.0 / self.solver.position_factor)
        for state in self.mapped:
            state.force.get()[:] = 0.0

    def _clear_forces(self) -> None:
        self.vectors.force[:] = 0.0
        for state in self._separate:
            state.force.get()[:] = 0.0

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, m: float, k: float, h: float) -> None:
        vectors: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for state in self.states:
            vectors[id(state)] = (self.part(out, state), self.part(v, state))
        for mapping in self.mappings:
            for driver in mapping.drivers:  # unmoved drivers are not in the vectors
                shape = (driver.count, driver.deriv_size)
                if id(driver) not in vectors:
                    vectors[id(driver)] = (np.zeros(shape), np.zeros(shape))
            child = mapping.child
            vectors[id(child)] = (
                np.zeros((child.count, child.deriv_size)),
                np.empty((child.count, child.deriv_size)),
            )
            driving = [vectors[id(driver)][1] for driver in mapping.drivers]
            mapping.apply_j_from(driving, vectors[id(child)][1])
        for mass in self.masses:
            mass.add_product(*vectors[id(mass.state)], m + h * mass.rayleighMass.get())
        for field in self.force_fields:
            beta = field.rayleighStiffness.get() if field.damps_in_products else 0.0
            factor = h if field.damps else k + h * beta
            field.add_product(*vectors[id(field.state)], factor)
        for mapping in reversed(self.mappings):
            if mapping.mapForces.get():
                driving = [vectors[id(driver)][0] for driver in mapping.drivers]
                mapping.add_jt_to(vectors[id(mapping.child)][0], driving)

    def _vectors(self, component: Contribution) -> tuple[np.ndarray, np.ndarray]:
        return component.state.force.get(), component.state.velocity.get()

    def _gather(self, mappings: list[Mapping]) -> None:
        for mapping in reversed(mappings):
            if mapping.mapForces.get():
                mapping.add_jt_to(mapping.child.force.get(), driver_arrays(mapping, "force"))

    def update_fixed(self) -> None:
        """Update the degrees of freedom that projective constraints fix at present."""
        acting = [c for c in self._fixing if c.acts()]
        in_matrix = acting
        if len(acting) < len(self._fixing) and keeps_sofa_defects():
            in_matrix = self._fixing  # SOFA's matrix ignores ends
        fixed = {id(c): c.fixed_dofs() for c in in_matrix}
        clamped = [fixed[id(c)] for c in acting]
        rows = [c.in_matrix(fixed[id(c)]) for c in in_matrix]
        if _are_same(clamped + rows, self._masks):
            return
        self._masks = clamped + rows
        self.identity = np.empty_like(self.identity)  # a new array tells solvers of the change
        parts = ((self.fixed, acting, clamped), (self.identity, in_matrix, rows))
        for array, constraints, masks in parts:
            array[:] = self.unused
            for constraint, mask in zip(constraints, masks, strict=True):
                part = self.part(array, constraint.state)
                part |= mask

    @override
    def project(self, vector: np.ndarray) -> None:
        np.copyto(vector, 0.0, where=self.fixed)
        for constraint in filter(ProjectiveConstraint.acts, self._projecting):
            constraint.project_response(
                lambda state: self.part(vector, state) if id(state) in self.offset else None
            )

    # -- mapped states ---------------------------------------------------------------------------

    @override
    def propagate(self) -> None:
        self.check_vectors()
        self.place_followers()

    def place_followers(self) -> None:
        """Compute mapped states, after `check_vectors` in the same step."""
        for group in self.followers:
            group.place()
        self.vectors.update_earlier_arrays()

    @override
    def propagate_free(self, h: float) -> None:
        if self._has_only_points:
            rows, vectors = slice(self.size), self.vectors
            np.multiply(self.v_free, h, out=vectors.free_position[rows])
            vectors.free_position[rows] += vectors.position[rows]
        else:
            for state in self.states:
                state.advance(state.free_velocity.get(), h, state.free_position.get())
        for group in self.followers:
            group.place_free(h)

    @override
    def move(self, h: float, v: np.ndarray) -> None:
        for state in self.states:
            position = state.position
            state.advance(self.part(v, state), h, position.get())
            position.touch()
            state.velocity.touch()
        np.copyto(self.v, v)

    @override
    def correct(self, displacement: np.ndarray, change: np.ndarray) -> None:
        if self._has_only_points:
            rows, vectors = slice(self.size), self.vectors
            np.add(vectors.free_position[rows], displacement, out=vectors.position[rows])
        for state in self.states:
            position = state.position
            if not self._has_only_points:
                start = state.free_position.get()
                state.advance(self.part(displacement, state), 1.0, position.get(), start)
            position.touch()
            state.velocity.touch()
        np.add(self.v_free, change, out=self.v)


def _are_same(masks: list[np.ndarray], last: list[np.ndarray]) -> bool:
    """Return True if they are the identical arrays of last time: changes create new arrays."""
    return len(masks) == len(last) and all(map(is_, masks, last))


def apply_projections(constraints: Sequence[ProjectiveConstraint]) -> None:
    """Apply projective constraints to positions and velocities, one after the other."""
    for constraint in filter(ProjectiveConstraint.acts, constraints):
        constraint.project_position(constraint.state.position.get())
        constraint.project_velocity(constraint.state.velocity.get())
