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

KEPT_BYTES = 2**25 - 2**16
"""Size up to which freed arrays are kept for later ones: near the largest threshold of glibc."""


def init(root: Node) -> None:
    """Initialise the graph: parents before children, objects in order of addition; then upward.

    Raises:
        LinkError: a link leads nowhere.
        SceneError: something that the simulation needs is missing or does not fit.
    """
    # Until a block of such a size was freed, glibc returns large arrays to the system and asks for
    # them again, page by page: a tenth of a step with sparse matrices.
    np.empty(KEPT_BYTES, dtype=np.uint8)
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
    """One step of length dt; the root's own dt when it is 0.

    Raises:
        DivergedError: a position or velocity became NaN or infinite.
    """
    h = float(dt) or root.dt.get()
    if h <= 0.0:
        raise SceneError(f"{describe(root._data['dt'].where)}: dt must be positive, got {h}.")
    loop, within = loop_of(root), Controller.stepping
    Controller.stepping = True
    root.late_changes.used.clear()
    try:
        with one_blas_thread():
            loop.step(h)
    finally:
        Controller.stepping = within
    root.late_changes.note_step(root, h)
    root.late_changes.warn()


def animateNSteps(root: Node, n_steps: int = 1, dt: float = 0.0) -> None:
    """Several steps."""
    for _ in range(n_steps):
        animate(root, dt)


def reset(root: Node) -> None:
    """Back to the state after `init`, bit for bit, time 0."""
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
    """Let go of everything that the scene holds."""
    for node in list(root.walk()):
        for component in node.objects:
            component.cleanup()


def load(path: str) -> Node:
    """A scene file's graph, Python or XML, built but not initialised."""
    root = Node("root")
    import_scene(path).createScene(root)
    return root


def print(node: Node) -> None:
    """Show the graph from that node on: names of nodes, and of objects with their class."""
    for entry in node.walk(everything=True):
        indent = "| " * (entry.getRootPath().count("/") - node.getRootPath().count("/"))
        builtins.print(f"{indent}+-{entry.getName()}")
        for component in entry.objects:
            kind = next(iter(component.getCategories()), "unsorted")
            builtins.print(f"{indent}| | {kind}: {component.getName()}({component.getClassName()})")


def loop_of(root: Node) -> AnimationLoop:
    """The root's animation loop."""
    found: Any = root.of("animation loop")
    if not found:
        raise SceneError("The scene is not initialised: call Sofa.Simulation.init(root) first.")
    return found[0]


def updateVisual(root: Node) -> None:
    """Nothing to do: nothing is drawn."""


def initVisual(root: Node) -> None:
    """Nothing to do: nothing is drawn."""


def initTextures(root: Node) -> None:
    """Nothing to do: nothing is drawn."""
