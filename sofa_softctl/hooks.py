"""Plugin hooks. Each is an empty function whose docstring is the contract.

    from sofa_softctl import hookimpl

    @hookimpl
    def softctl_register_controllers(register):
        register("pose_follower", PoseFollower)

A plugin is a module or object with such functions: named as an entry point of the group
`sofa_softctl` in its package's pyproject.toml, or given by `softctl --plugin PATH`. It is imported
when the backend has been chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pluggy

PROJECT = "sofa_softctl"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def softctl_register_controllers(register: Callable[[str, Callable[..., Any]], None]) -> None:
    """Register controllers by name, for `sofa_softctl.controller(name)` and `softctl plugins`.

    Called once, when a controller is first requested. Call `register(name, controller)` for each:
    a subclass of `Sofa.Core.Controller`, or a function that returns one when it is called without
    arguments (so that nothing heavy is imported before it is needed). A name that another plugin
    took is an error that names both.
    """


@hookspec
def softctl_register_qp_solvers(register: Callable[..., None]) -> None:
    """Register QP solvers by name, for the option `solver` of inverse control.

    Called once, when a solver is first requested that is not built in. Call `register(name,
    solve)`: `solve(qp, warm)` takes a `sofa_softctl.qp.QP` and the last result or None, and
    returns a `QPResult`; anything else is an error. The caller checks every solution, so a
    solver need not do so: a solution that fails the check is replaced, with the status FALLBACK.
    With `register(name, solve, sparse=True)` it takes a `SparseQP`: for planning.
    """


@hookspec
def softctl_register_components(register: Callable[[type[Any]], None]) -> None:
    """Register components for scenes in the embedded runtime.

    Called once, before a scene is loaded. Call `register(component)` for each subclass of
    `sofa_softctl.runtime.Component`; scenes name it by its class name. SOFA
    itself does not have such a component: a scene that uses it raises an error there.
    """


@hookspec
def softctl_register_devices(register: Callable[[str, type[Any]], None]) -> None:
    """Register devices of the hardware bridge, for `type` in a robot's configuration file.

    Called once, when a device is first requested that is not built in. Call `register(name,
    device)` with a subclass of `sofa_softctl.bridge.Device`. The device process imports its module
    again, without a scene: keep the module free of Sofa. See `sofa_softctl.testing.check_device`.
    """
