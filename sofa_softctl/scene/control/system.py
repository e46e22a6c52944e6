"""The constraint system of a step in compliance space, the same on both backends.

Only this module knows SOFA's lambda: the effort of a scene (force, torque, pressure) is
lambda / effort_factor, for any dt and integrator.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sofa_softctl.errors import SceneError
from sofa_softctl.scene.control.access import reader, watch
from sofa_softctl.scene.graph.nodes import nodes_of

SOLVERS_WITH_W = (
    "BlockGaussSeidelConstraintSolver",
    "GenericConstraintSolver with 'ProjectedGaussSeidel'",
)
"""Solvers that build W: in SOFA v25.12 and newer, in v25.06."""


class ComplianceSystem:
    """W, delta_free and lambda of the scene, by the components that own the rows.

    Valid inside a step, from onBuildConstraintSystemEndEvent to onSolveConstraintSystemEndEvent.
    Works with every constraint solver of SOFA that builds W (GenericConstraintSolver and
    LCPConstraintSolver of v25.06, BlockGaussSeidelConstraintSolver, NNCGConstraintSolver and
    ImprovedJacobiConstraintSolver of v25.12 and newer).

    Source: Coevoet, Escande, Duriez 2019, eq. (4).

    Raises:
        SceneError: the scene has no constraint solver, or one without W.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.solver = _constraint_solver(root)
        self.body_paths: dict[Any, str] = {}
        """Paths of bodies by their states, see `contacts.contacts_of`."""

    @property
    def size(self) -> int:
        """Number of rows in this step."""
        return len(self.solver.dfree())

    def rows_of(self, components: Sequence[Any]) -> ComponentRows:
        """Return the rows of some components, which can be queried in every step."""
        return ComponentRows(self, components)

    def owners(self) -> list[tuple[Any, np.ndarray]]:
        """Return the components that own rows in this step, with their rows, in their order.

        In SOFA a component's rows end before the first row of the next one, which gives the number
        of rows of every owner, also of contacts.
        """
        if hasattr(self.solver, "problem"):  # of the runtime
            ranges = ((c, int(c.constraintIndex.get())) for c in self.solver.problem.active)
            return [(c, np.arange(k, k + c.row_count)) for c, k in ranges if c.row_count]
        components = _constraints(self.root)
        firsts = [int(component.constraintIndex.value) for component in components]
        order = np.argsort(firsts, kind="stable")
        bounds = [*(firsts[i] for i in order), self.size]
        return [
            (components[i], np.arange(bounds[k], bounds[k + 1]))
            for k, i in enumerate(order)
            if bounds[k] < bounds[k + 1]
        ]

    def compliance(self, rows: np.ndarray, columns: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return W[rows, columns] [displacement / effort]; `factor`: effort factor per column."""
        scaled: np.ndarray = np.asarray(self.solver.W())[rows[:, None], columns] * factor
        return scaled

    def delta_free(self, rows: np.ndarray) -> np.ndarray:
        """Return delta of the rows in the free motion, shape (n,)."""
        delta: np.ndarray = np.asarray(self.solver.dfree())[rows]
        return delta

    def set_delta_free(self, rows: np.ndarray, delta: np.ndarray) -> None:
        """Set the free motion of rows, before the solver runs."""
        self.solver.dfree()[rows] = delta

    def set_effort(self, rows: np.ndarray, effort: np.ndarray, factor: np.ndarray) -> None:
        """Set the efforts that the correction applies on the rows."""
        self.solver.lambda_force()[rows] = effort * factor

    def effort_factor(self, component: Any) -> float:
        """Return lambda of one unit of effort on a component's rows."""
        return effort_factor(self.root, component)


class ComponentRows:
    """Rows of some components, cached while the system's layout is unchanged."""

    def __init__(self, system: ComplianceSystem, components: Sequence[Any]) -> None:
        self.components = components
        self._system = system
        first = [component.findData("constraintIndex") for component in components]
        self._read_first, self._have_moved = [reader(data) for data in first], watch(first)
        self._count = np.array([row_count(component) for component in components], dtype=int)
        nodes = (component.getContext() for component in components)
        switches = {id(data): data for node in nodes for data in _switches(node)}
        self._were_switched = watch(list(switches.values()))
        self._firsts: list[int] = []  # and the size of the system at the last look:
        self._size = -1
        self._rows = self._others = np.empty(0, dtype=int)

    def row_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the components in their order, and all other rows, in this step.

        Raises:
            SceneError: a component made no rows in this step.
        """
        size = self._system.size
        if self._have_moved() or size != self._size:
            firsts = [read() for read in self._read_first]
            if firsts != self._firsts or size < self._size or self._were_switched():
                self._firsts = []
                self._rows = self._find(size, np.array(firsts, dtype=int))
            is_other = np.ones(size, dtype=bool)
            is_other[self._rows] = False
            self._others = np.flatnonzero(is_other)
            self._firsts, self._size = firsts, size
        return self._rows, self._others

    def _find(self, size: int, first: np.ndarray) -> np.ndarray:
        is_off = [not _is_on(component.getContext()) for component in self.components]
        bad = np.flatnonzero((first + self._count > size) | is_off)
        if len(bad):
            raise SceneError(
                f"{self.components[bad[0]].getPathName()} should own row {first[bad[0]]} of the "
                f"constraint system, which has {size}: is it, or its node, switched off?"
            )
        starts = np.repeat(first - np.cumsum(self._count) + self._count, self._count)
        rows: np.ndarray = starts + np.arange(len(starts))
        return rows


def _switches(node: Any) -> list[Any]:
    """Return the Data `activated` of a node and of those above it."""
    return [node.findData("activated"), *itertools.chain(*map(_switches, node.parents))]


def _is_on(node: Any) -> bool:
    return all(data.value for data in _switches(node))


def effort_factor(root: Any, component: Any) -> float:
    """Return lambda of one unit of effort on a component's rows.

    dt with a second-order integrator (lambda is an impulse), 1 in first order and with explicit
    integrators, 1 / dt with a static solver. Source: the integrators' right-hand sides in SOFA.
    """
    dt = float(root.dt.value)
    solver = _integrator(component)
    if solver.getClassName() == "StaticSolver":
        return 1.0 / dt
    if solver.getClassName() in ("EulerExplicitSolver", "CentralDifferenceSolver"):
        return 1.0
    first_order = solver.findData("firstOrder")
    return 1.0 if first_order is not None and first_order.value else dt


def row_count(component: Any) -> int:
    """Return the number of rows that a stock component makes.

    Raises:
        SceneError: the number of rows of such a component is not known.
    """
    kind = component.getClassName()
    if kind.startswith(("Cable", "SurfacePressure", "Joint", "YoungModulus")):
        return 1
    if kind.startswith("Position"):
        used = int(np.count_nonzero(np.asarray(component.useDirections.value)))
        return used * len(component.indices.value)
    raise SceneError(
        f"{component.getPathName()} is a {kind}: inverse control knows the rows of cables, surface "
        "pressures, joints and positions."
    )


def _constraints(root: Any) -> list[Any]:
    """Return the components that may own rows in SOFA's order: a node before its children."""
    return [
        component
        for node in nodes_of(root)
        for component in node.objects
        if component.findData("constraintIndex") is not None
    ]


def _constraint_solver(root: Any) -> Any:
    for solver in root.objects:
        if callable(getattr(solver, "lambda_force", None)):
            _check_builds_W(solver)
            return solver
        if solver.getClassName().endswith("ConstraintSolver"):
            raise SceneError(
                f"{solver.getPathName()} does not give its W to Python: import sofa_softctl (or "
                "Sofa.SofaConstraintSolver) before the scene adds it."
            )
    raise SceneError(
        "The scene has no constraint solver: add a GenericConstraintSolver to the root, before the "
        "controller."
    )


def _check_builds_W(solver: Any) -> None:
    kind = solver.getClassName()
    method = getattr(solver.findData("resolutionMethod"), "value", "")
    build = getattr(solver.findData("build_lcp"), "value", True)
    if kind.startswith("Unbuilt") or str(method).startswith("Unbuilt") or not build:
        setting = f" with resolutionMethod='{method}'" if method else ""
        setting = setting if build else " with build_lcp=False"
        raise SceneError(
            f"{solver.getPathName()} is a {kind}{setting}, which builds no compliance matrix W: "
            f"inverse control needs one. Use {' or '.join(SOLVERS_WITH_W)}."
        )


def _integrator(component: Any) -> Any:
    node = component.getContext()
    while node is not None:
        for solver in node.objects:
            if solver.getClassName() in ("EulerImplicitSolver", "StaticSolver"):
                return solver
        parents = list(node.parents)
        node = parents[0] if parents else None
    raise SceneError(f"{component.getPathName()} is moved by no EulerImplicitSolver above it.")
