"""Base class of animation loops: systems of the graph, and events around a step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import DivergedError
from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.roles import ContactDetection
from sofa_softctl.runtime.behavior.solvers import AnimationLoop, OdeSolver
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.data.data import DataWatch
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.helper.timer import Clock
from sofa_softctl.runtime.simulation.followers import place_follower
from sofa_softctl.runtime.simulation.outer_forces import OuterForces
from sofa_softctl.runtime.simulation.system import GraphSystem, apply_projections

_INITIALISED = ("state", "mapping", "mass", "force field", "projective constraint", "constraint")
"""Categories of components that take part in a step only after their init()."""


class SteppingLoop(AnimationLoop):
    """Loop over the mechanical systems of its graph, which it finds again after changes."""

    integrates: ClassVar[bool] = False
    """Whether it integrates in place: outer springs act, Lagrangian constraints do not."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.clock = Clock()
        self.systems: list[GraphSystem] = []
        self.projective: list[Any] = []
        self._version = -1
        self._pushing = False
        self._step = (0.0, 0.0)

    @property
    def root(self) -> Node:
        """Root of the graph."""
        assert self._context is not None
        return self._context.getRoot()

    def prepare(self) -> None:
        """Find the systems, attach their solvers, and compute mapped states."""
        root = self.root
        self._check_initialised()
        self.systems = []
        for node in root.walk():
            for solver in node.of("ode solver"):
                assert isinstance(solver, OdeSolver)
                if not self._is_idle(solver):
                    system = GraphSystem(solver)
                    solver.attach(system)
                    self.systems.append(system)
        self._find_unmoved()
        self.outer = OuterForces(self.root, self.systems, self.integrates)
        if self.integrates:
            self._warn_idle_constraints()
        self.projective = [e for node in root.walk() for e in node.of("projective constraint")]
        if self._version < 0:  # once, at init
            apply_projections(self.projective)
        self.propagate()
        self.pipelines: list[ContactDetection] = []
        for pipeline in root.of("collision pipeline"):
            assert isinstance(pipeline, ContactDetection)
            pipeline.prepare()
            self.pipelines.append(pipeline)
        self._version = root.version
        nodes = list(root.walk(everything=True))
        self._times = [node.time for node in nodes]
        self._context_watch = DataWatch(
            node._data[name] for node in nodes for name in ("dt", "gravity")
        )
        self._has_contexts = any(node.contexts for node in nodes)
        self._update_penalties()

    def settle(self) -> None:
        """Apply projective constraints, then compute mapped states, and clear outer forces."""
        apply_projections(self.projective)
        for system in self.systems:
            system.place_followers()
        for mapping in self.unmoved_mappings:
            place_follower(mapping)
        self.outer.clear()

    def propagate(self) -> None:
        """Compute mapped states from independent states."""
        for system in self.systems:
            system.propagate()
        for mapping in self.unmoved_mappings:
            place_follower(mapping)

    def _is_idle(self, solver: OdeSolver) -> bool:
        for system in self.systems:
            if not any(node is solver._context for node in system.nodes):
                continue
            first = system.solver.describe()
            if system.solver._context is solver._context:
                problem = (
                    f"does nothing: {first} is in its node. SOFA steps with each of them, so that "
                    "all moves twice as far. Remove one."
                )
            else:
                problem = (
                    f"does nothing (in SOFA neither): {first} above it moves all that is below. "
                    "Remove one of them, or put their nodes beside each other."
                )
            complain(solver, solver.fault(problem))
            return True
        return False

    def _find_unmoved(self) -> None:
        """Find the states that no integrator moves, such as obstacles, and their followers."""
        moved = {id(state) for system in self.systems for state in system.all_states}
        self.unmoved: list[MechanicalState] = []
        self.unmoved_mappings: list[Mapping] = []
        for node in self.root.walk():
            for mapping in node.of("mapping"):
                assert isinstance(mapping, Mapping)
                if mapping.mechanical and id(mapping.child) not in moved:
                    self.unmoved_mappings.append(mapping)
            self.unmoved += [state for state in node.of("state") if id(state) not in moved]  # type: ignore[misc]
        for system in self.systems:
            system.check_drivers(moved)

    def _warn_idle_constraints(self) -> None:
        idle = [constraint for node in self.root.walk() for constraint in node.of("constraint")]
        if idle:
            message.warning(
                idle[0],
                f"{describe(idle[0]._where)}: {idle[0].describe()} does nothing under "
                f"{self.getClassName()}: add a FreeMotionAnimationLoop to the root.",
            )

    def _check_initialised(self) -> None:
        for node in self.root.walk():
            for component in node.objects:
                if component.category in _INITIALISED and not component._initialised:
                    raise component.fault(
                        "was not there, or switched off, when the scene was initialised: call "
                        "init() of it or of its node."
                    )

    def collide(self) -> None:
        """Detect contacts at the positions at the start of the step."""
        self.root.send(Event("CollisionBeginEvent"))
        for pipeline in self.pipelines:
            pipeline.detect()
        self._update_penalties()
        self.root.send(Event("CollisionEndEvent"))

    def _update_penalties(self) -> None:
        """Replace the penalty contacts of the last step by the present ones."""
        penalties = [field for pipeline in self.pipelines for field in pipeline.penalties]
        if not penalties and not self._pushing:
            return
        self._pushing = bool(penalties)
        outer = penalties
        for system in self.systems:
            nodes = set(map(id, system.nodes))
            system.push([field for field in penalties if id(field._context) in nodes])
            outer = [field for field in outer if id(field._context) not in nodes]
        self.outer.push(outer)

    def begin(self, h: float) -> None:
        """Start a step, before time advances."""
        self.clock.start()
        if self.root.version != self._version:
            self.prepare()
        start = self.root.time.get()
        self._step = (start, h)
        self.root.send(Event("AnimateBeginEvent", dt=h))
        if self.root.version != self._version:
            self.prepare()
        for system in self.systems:
            system.check_vectors()
            system.update_fixed()
        self.clock.lap("controllers")

    def end(self, h: float) -> None:
        """End a step: mapped states, time, a check, and the controllers."""
        root = self.root
        self.settle()
        root.time.set(root.time.get() + h)
        root.nbComputedSteps.set(root.nbComputedSteps.get() + 1)
        self._pass_context(root)
        self._check_finite()
        self.clock.lap("mappings")
        root.send(Event("AnimateEndEvent", dt=h))
        root.send(Event("UpdateMappingEndEvent"))
        self.clock.lap("controllers")

    def _pass_context(self, root: Node) -> None:
        """Pass the root's time to all nodes; dt and gravity, too, if one has changed."""
        if self._has_contexts or self._context_watch.has_changed():
            root.inherit()
            self._context_watch.has_changed()  # of the nodes below
            return
        time = root.time.get()
        for data in self._times:
            data.set(time)

    def check_free_motion(self) -> None:
        """Raise a DivergedError before NaN of the free motion reaches rows and controllers."""
        for system in self.systems:
            if not _is_finite(system.v_free):
                self._raise_diverged(system, ("position", "velocity", "free_velocity"))

    def _check_finite(self) -> None:
        for system in self.systems:
            positions = (state.position.get() for state in system.states)
            if not _is_finite(system.v) or not all(map(_is_finite, positions)):
                self._raise_diverged(system, ("position", "velocity"))

    def _raise_diverged(self, system: GraphSystem, names: tuple[str, ...]) -> None:
        for state in system.states:
            vectors = [state._data[name].get() for name in names]
            is_diverged = ~np.all([np.isfinite(vector).all(axis=1) for vector in vectors], axis=0)
            if is_diverged.any():
                raise DivergedError.from_nodes(state.describe(), *self._step, is_diverged)


def _is_finite(vectors: np.ndarray) -> bool:
    """Return True if all numbers are finite; their squares tell it in a quarter of the time."""
    return math.isfinite(np.vdot(vectors, vectors)) or bool(np.isfinite(vectors).all())
