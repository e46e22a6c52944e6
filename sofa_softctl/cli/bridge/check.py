"""The command `softctl bridge check`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sofa_softctl.cli.bridge.group import Config, bridge, load_robot
from sofa_softctl.cli.options import BackendName, Plugin, Set
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.bridge.config.robot import RobotConfig


@bridge.command(
    epilog="Examples:\n\n  softctl bridge check hardware/trunk_servos.toml\n\n"
    "  softctl bridge check hardware/trunk_servos.toml --scene scenes/trunk.py\n\n"
    "  softctl bridge check hardware/trunk_servos.toml --open"
)
def check(
    config: Config,
    scene: Annotated[
        Path | None, typer.Option(metavar="SCENE", help="Scene that drives the robot.")
    ] = None,
    set_: Set = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open each device, ask what it is, and close it again.")
    ] = False,
    backend: BackendName = "auto",
    plugin: Plugin = None,
) -> None:
    """Check a configuration file, its devices, and its fit to a scene.

    Nothing moves. Ends with status 1 when something does not fit.
    """
    from sofa_softctl.bridge.config.setup import channels
    from sofa_softctl.bridge.course.checks import check_robot
    from sofa_softctl.view.terminal import bridge as tables

    robot = load_robot(config, plugin)
    check_robot(robot)
    opened = _open_devices(robot) if open_ else {}
    tables.show_robot(robot, channels(robot), opened)
    if scene is not None and not _fits(robot, scene, backend, set_):
        raise typer.Exit(ExitStatus.FAILED)


def _open_devices(robot: RobotConfig) -> dict[str, Any]:
    """Open, check and close each device, and return the capabilities."""
    from sofa_softctl.bridge.config.setup import channels
    from sofa_softctl.bridge.course.checks import check_capabilities, effort_note
    from sofa_softctl.bridge.registry import find
    from sofa_softctl.bridge.stream.device_lock import lock_device

    capabilities = {}
    setups = channels(robot)
    for device in robot.devices:
        driver = find(device.type)(device.name, **device.options)
        with ExitStack() as stack:
            if setups[device.name]:
                stack.callback(lock_device(device, driver, robot.name).release)
            stack.callback(driver.close)
            capabilities[device.name] = driver.open(setups[device.name])
        device_capabilities = capabilities[device.name]
        check_capabilities(device.name, device_capabilities, setups[device.name], robot.stream.rate)
        if device_capabilities.measures_effort is False:
            actuators = [actuator for actuator in robot.actuators if actuator.device == device.name]
            notes = (*device_capabilities.notes, *effort_note(device.name, actuators))
            capabilities[device.name] = replace(device_capabilities, notes=notes)
    return capabilities


def _fits(robot: RobotConfig, scene: Path, backend: str, values: list[str] | None) -> bool:
    from sofa_softctl.bridge.config.fit import fit_scene
    from sofa_softctl.cli.files import exit_is_an_error, open_session
    from sofa_softctl.scene.graph.nodes import keep_devices_closed
    from sofa_softctl.view.terminal import bridge as tables

    with (
        exit_is_an_error(scene),
        open_session(scene, backend, values, quiet=True, add=keep_devices_closed) as session,
    ):
        fit, speed = fit_scene(robot, session)
    tables.show_fit(fit, speed)
    return not fit.errors
