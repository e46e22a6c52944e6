"""Base class of animation loops: systems of the graph, and events around a step."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sofa_softctl.errors import DivergedError, SceneError
from sofa_softctl.runtime.behavior.collision import ContactDetection
from sofa_softctl.runtime.behavior.mapping import Mapping
from sofa_softctl.runtime.behavior.solvers import AnimationLoop
from sofa_softctl.runtime.behavior.state import MechanicalState
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.helper.clock import Clock
from sofa_softctl.runtime.helper.strictness import complain
from sofa_softctl.runtime.simulation.system import GraphSystem, place_follower

_INITIALISED = ("state", "mapping", "mass", "force field", "projective constraint", "constraint")
"""Categories of components that take part in a step only after their init()."""


class SteppingLoop(AnimationLoop):
    """A loop over the mechanical systems of its graph, which it finds again when that changed."""

    integrates: ClassVar[bool] = False
    """Whether it sends IntegrateEndEvent."""

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.clock = Clock()
        self.systems: list[GraphSystem] = []
        self.projective: list[Any] = []
        self._version = -1
        self._step = (0.0, 0.0)

    @property
    def root(self) -> Node:
        """The root of the graph."""
        assert self._context is not None
        return self._context.getRoot()

    def prepare(self) -> None:
        """Find the systems, hand them to their solvers, and place mapped states."""
        root = self.root
        self._check_initialised()
        self.systems = []
        for node in root.walk():
            for solver in node.of("ode solver"):
                system = GraphSystem(solver)  # type: ignore[arg-type]
                solver.attach(system)  # type: ignore[attr-defined]
                self.systems.append(system)
        self._find_unmoved()
        self.projective = [e for node in root.walk() for e in node.of("projective constraint")]
        if self._version < 0:  # once, at init
            self.project()
        self.propagate()
        self.pipelines: list[ContactDetection] = []
        for entry in root.of("collision pipeline"):
            assert isinstance(entry, ContactDetection)
            entry.prepare()
            self.pipelines.append(entry)
        self._version = root.version

    def project(self) -> None:
        """Positions and velocities as the projective constraints want them, one after the other."""
        for constraint in self.projective:
            data = constraint.state._data
            constraint.project_position(data["position"].get())
            constraint.project_velocity(data["velocity"].get())

    def propagate(self) -> None:
        """Place mapped states where the independent ones say."""
        for system in self.systems:
            system.propagate()
        for mapping in self.unmoved_mappings:
            place_follower(mapping)

    def _find_unmoved(self) -> None:
        """States that no integrator moves, such as obstacles, and what follows them alone."""
        moved = {id(state) for system in self.systems for state in system.all_states}
        self.unmoved: list[MechanicalState] = []
        self.unmoved_mappings: list[Mapping] = []
        for node in self.root.walk():
            for mapping in node.of("mapping"):
                assert isinstance(mapping, Mapping)
                if mapping.mechanical and id(mapping.child) not in moved:
                    self.unmoved_mappings.append(mapping)
            self.unmoved += [state for state in node.of("state") if id(state) not in moved]  # type: ignore[misc]
            for entry in (*node.of("mass"), *node.of("force field")):
                if id(entry.state) not in moved:  # type: ignore[attr-defined]
                    complain(entry, self._idle(entry))
        for system in self.systems:
            system.check_drivers(moved)

    @staticmethod
    def _idle(entry: Any) -> SceneError:
        """The fault of a mass or force field that moves nothing."""
        error: SceneError = entry.fault(
            f"acts on {entry.state.describe()}, but no time integrator moves it: add an "
            "EulerImplicitSolver and a SparseLDLSolver to its node or above."
        )
        return error

    def _check_initialised(self) -> None:
        for node in self.root.walk():
            for component in node.objects:
                if component.category in _INITIALISED and not component._initialised:
                    raise component.fault(
                        "was not there, or switched off, when the scene was initialised: call "
                        "init() of it or of its node."
                    )

    def collide(self) -> None:
        """Find contacts, in the positions at the start of the step."""
        self.root.send(Event("CollisionBeginEvent"))
        for pipeline in self.pipelines:
            pipeline.detect()
        self.root.send(Event("CollisionEndEvent"))

    def begin(self, h: float) -> None:
        """Start a step: time still that of its beginning."""
        self.clock.start()
        if self.root.version != self._version:
            self.prepare()
        start = self.root._data["time"].get()
        self._step = (start, h)
        self.root.send(Event("AnimateBeginEvent", dt=h))
        if self.root.version != self._version:
            self.prepare()
        for system in self.systems:
            system.update_fixed()
        self.clock.lap("controllers")

    def end(self, h: float) -> None:
        """End a step: mapped states, time, a check, and the controllers."""
        root = self.root
        self.project()
        self.propagate()
        if self.integrates:
            root.send(Event("IntegrateEndEvent"))
        root._data["time"].set(root._data["time"].get() + h)
        root._data["nbComputedSteps"].set(root._data["nbComputedSteps"].get() + 1)
        root.inherit()
        self._check_finite()
        self.clock.lap("mappings")
        root.send(Event("AnimateEndEvent", dt=h))
        root.send(Event("UpdateMappingEndEvent"))
        self.clock.lap("controllers")

    def check_free_motion(self) -> None:
        """DivergedError before a NaN of the free motion reaches rows, solvers and controllers."""
        for system in self.systems:
            if not np.isfinite(system.v_free).all():
                self._raise_diverged(system, ("position", "velocity", "free_velocity"))

    def _check_finite(self) -> None:
        for system in self.systems:
            positions = (state._data["position"].get() for state in system.states)
            if not np.isfinite(system.v).all() or not all(np.isfinite(x).all() for x in positions):
                self._raise_diverged(system, ("position", "velocity"))

    def _raise_diverged(self, system: GraphSystem, names: tuple[str, ...]) -> None:
        for state in system.states:
            vectors = [state._data[name].get() for name in names]
            bad = ~np.all([np.isfinite(vector).all(axis=1) for vector in vectors], axis=0)
            if bad.any():
                raise DivergedError.of(state.describe(), *self._step, bad)
