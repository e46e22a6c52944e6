"""SOFA's Sofa.Simulation: initialise, step and reset a scene graph."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.behavior.solvers import AnimationLoop
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.core.node import Node
from sofa_softctl.runtime.core.scripted import Controller
from sofa_softctl.runtime.kernels.cholesky.blas import one_blas_thread
from sofa_softctl.runtime.simulation.scene_file import import_scene

REUSED_BYTES_MAX = 2**25 - 2**16
"""Size of freed arrays that glibc reuses [bytes], near its largest threshold."""


def init(root: Node) -> None:
    """Initialise the graph: parents before children, objects in order of addition; then upward.

    Raises:
        LinkError: The target of a link does not exist.
        SceneError: Something that the simulation needs is missing or does not fit.
    """
    # Until a block of such a size was freed, glibc returns large arrays to the system and asks for
    # them again, page by page: a tenth of a step with sparse matrices.
    np.empty(REUSED_BYTES_MAX, dtype=np.uint8)
    if not root.of("animation loop"):
        root.addObject("DefaultAnimationLoop", name="DefaultAnimationLoop")
    root.inherit()
    for node in root.walk():
        node.warn_of_own_gravity()
    root.send(Event("SimulationInitStartEvent"))
    root.init()
    root.send(Event("SimulationInitDoneEvent"))
    loop = loop_of(root)
    loop.prepare()
    for node in root.walk():
        for state in node.of("state"):
            state.remember_reset()  # type: ignore[attr-defined]
    for controller in root.controllers():
        if isinstance(controller, Controller):
            controller._remember_attributes()


initRoot = init


def animate(root: Node, dt: float = 0.0) -> None:
    """Make a step of length dt, or of the root's dt if it is 0.

    Raises:
        DivergedError: A position or velocity became NaN or infinite.
    """
    h = float(dt) or root.dt.get()
    if h <= 0.0:
        raise SceneError(f"{describe(root._data['dt'].where)}: dt must be positive, got {h}.")
    loop, was_stepping = loop_of(root), Controller.stepping
    Controller.stepping = True
    root.late_changes.used.clear()
    try:
        with one_blas_thread():
            loop.step(h)
    finally:
        Controller.stepping = was_stepping
    root.late_changes.note_step(root, h)
    root.late_changes.warn()


def animateNSteps(root: Node, n_steps: int = 1, dt: float = 0.0) -> None:
    """Make several steps."""
    for _ in range(n_steps):
        animate(root, dt)


def reset(root: Node) -> None:
    """Return to the state after `init`, bit for bit, and to time 0."""
    root.time.set(0.0)
    root.nbComputedSteps.set(0.0)
    root.inherit()
    for node in root.walk(everything=True):
        for component in node.objects:
            if component._initialised or component.category == "controller":
                component.return_outputs()
                if isinstance(component, Controller):
                    component._return_attributes()
                component.reset()
    loop_of(root).propagate()


def unload(root: Node) -> None:
    """Clean up all components of the scene."""
    for node in list(root.walk()):
        for component in node.objects:
            component.cleanup()


def load(path: str) -> Node:
    """Return the graph of a scene file, Python or XML, built but not initialised."""
    root = Node("root")
    import_scene(path).createScene(root)
    return root


def print(node: Node) -> None:
    """Print the graph from this node on: names of nodes, and of objects with their class."""
    for below in node.walk(everything=True):
        indent = "| " * (below.getRootPath().count("/") - node.getRootPath().count("/"))
        builtins.print(f"{indent}+-{below.getName()}")
        for component in below.objects:
            kind = next(iter(component.getCategories()), "unsorted")
            builtins.print(f"{indent}| | {kind}: {component.getName()}({component.getClassName()})")


def loop_of(root: Node) -> AnimationLoop:
    """Return the root's animation loop."""
    loops: Any = root.of("animation loop")
    if not loops:
        raise SceneError("The scene is not initialised: call Sofa.Simulation.init(root) first.")
    return loops[0]


def updateVisual(root: Node) -> None:
    """Have no effect: nothing is drawn."""


def initVisual(root: Node) -> None:
    """Have no effect: nothing is drawn."""


def initTextures(root: Node) -> None:
    """Have no effect: nothing is drawn."""
