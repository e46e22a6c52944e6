"""Root of a scene with settings, models and a simulation as its children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import Sofa.Core
from splib3.animation import AnimationManager
from splib3.debug import DebugManager
from stlib3.scene.contactheader import ContactHeader
from stlib3.scene.plugins import add_folders, add_frame, add_plugins, with_python
from stlib3.solver import DefaultSolver


def Settings(plugins: Any = (), repositoryPaths: Sequence[str] = ()) -> Any:
    """Return a node with plugins, folders of files, and settings of a window."""
    node = Sofa.Core.Node("Settings")
    add_plugins(node.addChild("Plugins"), plugins)
    add_folders(node, repositoryPaths, "AddResourceRepository")
    add_frame(node)
    node.addObject("AttachBodyButtonSetting", name="mouseButton")
    return node


def Scene(
    root: Any,
    gravity: Sequence[float] = (0.0, -9.81, 0.0),
    dt: float = 0.01,
    plugins: Any = (),
    repositoryPaths: Sequence[str] = (),
    iterative: bool = True,
) -> Any:
    """Set gravity and time step, and give the root functions that add the parts of a scene.

    `root.addMainHeader()` adds an AnimationManager, `root.Settings`, `root.Modelling` for models,
    and `root.Simulation` with an integrator and a linear solver for moving objects. `addSettings`,
    `addModelling` and `addSimulation` add one of these, `addContact` contacts and
    `addSolver(node)` the solvers.

    Args:
        root: Root of the scene.
        gravity: Gravity [length / s^2].
        dt: Time step [s].
        plugins: Plugins of SOFA.
        repositoryPaths: Folders in which files are searched.
        iterative: Use conjugate gradients as linear solver, not a factorisation.

    Returns:
        The root.
    """
    names, folders = plugins, repositoryPaths

    def addMainHeader(
        plugins: Any = names, repositoryPaths: Sequence[str] = folders, doDebug: bool = False
    ) -> None:
        if doDebug:
            DebugManager(root)
        root.addObject(AnimationManager(root))
        if isinstance(plugins, list | tuple):
            plugins = [*with_python(plugins), "Sofa.Component.ODESolver.Backward"]
        addSettings(plugins, repositoryPaths)
        addModelling()
        addSimulation()

    def addSettings(plugins: Any = names, repositoryPaths: Sequence[str] = folders) -> Any:
        root.addChild(Settings(plugins, repositoryPaths))
        return root

    def addModelling() -> Any:
        root.addChild("Modelling")
        return root

    def addSimulation() -> Any:
        addSolver(root.addChild("Simulation"))
        return root

    def addSolver(node: Any) -> Any:
        DefaultSolver(node, iterative=iterative)
        return node

    def addContact(
        alarmDistance: float = 1.0, contactDistance: float = 0.1, frictionCoef: float = 1.0
    ) -> Any:
        return ContactHeader(root, alarmDistance, contactDistance, frictionCoef)

    root.gravity.value = list(gravity)
    root.dt.value = dt
    root.addObject("VisualStyle")
    root.addMainHeader = addMainHeader
    root.addSettings = addSettings
    root.addSolver = addSolver
    root.addContact = addContact
    root.addModelling = addModelling
    root.addSimulation = addSimulation
    return root
