"""Tables of the hardware bridge: devices, and the configuration of a robot."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape

from sofa_softctl.base.extras import install_command
from sofa_softctl.bridge.config.fit import limits_text
from sofa_softctl.view.terminal.table import Table, make_console


def show_devices(devices: list[Any]) -> None:
    """Print `bridge.about.DeviceAbout` of all devices."""
    console = make_console()
    for device in devices:
        by = f" (plugin '{device.plugin}')" if device.plugin else ""
        head = f"[bold]{escape(device.name)}[/]{escape(by)}: {escape(device.summary)}"
        console.print(head, highlight=False, soft_wrap=True)
        if device.quantities:
            console.print(f"  for {', '.join(device.quantities)}")
        table = Table.grid(padding=(0, 2))
        for option in device.options:
            default = "must be given" if option.default is None else f"default {option.default}"
            table.add_row(f"  {escape(option.name)}", escape(option.type), escape(default))
        console.print(table)
        if device.missing:
            names = ", ".join(device.missing)
            command = f"{install_command('hardware')}, for ROS [ros]"
            console.print(f"  [yellow]not installed: {escape(names)}[/]; {escape(command)}")
        console.print()


def show_robot(robot: Any, setups: dict[str, Any], opened: dict[str, Any]) -> None:
    """Print devices and actuators of a robot.

    Args:
        robot: A `bridge.config.robot.RobotConfig`.
        setups: Channels of each device, see `bridge.config.setup.channels`.
        opened: Capabilities of each opened device.
    """
    console = make_console()
    console.print(f"[bold]{escape(robot.name)}[/], {escape(robot.path)}", soft_wrap=True)
    table = Table("device", "type", "channels", "what it is" if opened else "options")
    for device in robot.devices:
        numbers = ", ".join(str(channel.number) for channel in setups[device.name]) or "none"
        options = ", ".join(f"{key} = {value}" for key, value in device.options.items())
        text = opened[device.name].description if opened else options
        table.add_row(escape(device.name), escape(device.type), numbers, escape(text))
    console.print(table)
    _show_actuators(console, robot, setups, opened)
    if robot.sensors:
        table = Table("sensor", "signal", "numbers", "unit")
        for sensor in robot.sensors:
            signal = f"{sensor.device}: {sensor.signal}"
            table.add_row(
                escape(sensor.name), escape(signal), str(sensor.size), escape(sensor.unit)
            )
        console.print(table)
    for name, capabilities in opened.items():
        for note in capabilities.notes:
            console.print(f"[yellow]{escape(name)}:[/] {escape(note)}", soft_wrap=True)


def _show_actuators(
    console: Console, robot: Any, setups: dict[str, Any], opened: dict[str, Any]
) -> None:
    table = Table("actuator", "channel", "limits", "rest", "rate", "device", "resolution")
    channels = {channel.name: channel for channels in setups.values() for channel in channels}
    for actuator in robot.actuators:
        channel, unit = channels[actuator.name], actuator.unit
        device = opened.get(actuator.device)
        device_unit = f" {device.unit}" if device and device.unit else ""
        slope_min, _ = actuator.map.slope_range(actuator.position_min, actuator.position_max)
        step = 1.0 if device is None else device.resolution
        table.add_row(
            escape(actuator.name),
            escape(f"{actuator.device}:{actuator.channel}"),
            f"{actuator.position_min:g} to {actuator.position_max:g} {unit}",
            f"{actuator.rest:g} {unit}",
            f"{actuator.rate:g} {unit}/s",
            f"{channel.low:.6g} to {channel.high:.6g}{escape(device_unit)}",
            f"{step / slope_min:.3g} {unit}" if step else "",
        )
    console.print(table)
    if not opened:
        console.print("Resolution: of one unit of the device. --open asks the devices for theirs.")


def show_fit(fit: Any, speed: float) -> None:
    """Print the fit of a robot to a scene.

    Args:
        fit: A `bridge.config.fit.Fit`.
        speed: Real-time factor, or NaN if not measured.
    """
    console = make_console()
    table = Table("actuator", "takes the scene's", "factor to the robot's unit", "scene's limits")
    for match in fit.matches:
        actuator = match.actuator
        limits = limits_text(match.low, match.high, actuator.unit)
        factor = f"{match.factor:.6g}"
        table.add_row(
            escape(actuator.name), f"{match.source} ({actuator.quantity})", factor, limits
        )
    if fit.matches:
        console.print(table)
    for style, name, sentences in (
        ("bold red", "error", fit.errors),
        ("yellow", "warning", fit.warnings),
    ):
        for text in sentences:
            console.print(f"[{style}]{name}:[/] {escape(text)}", highlight=False, soft_wrap=True)
    kinds = {name: fit.limited_otherwise.get(name, ("", "")) for name in fit.unlimited}
    for kind in dict.fromkeys(kinds.values()):
        names = ", ".join(repr(name) for name in fit.unlimited if kinds[name] == kind)
        template = "the scene sets no limit on the speed of {}"
        if kind[0]:
            template = f"the scene limits how fast the {kind[0]} of {{}} changes, not the {kind[1]}"
        text = (
            f"note: {template.format(names)}: whether the robot can follow is seen in a run, whose "
            "table says how far it was behind."
        )
        console.print(escape(text), highlight=False, soft_wrap=True)
    if speed == speed:
        console.print(f"The scene runs at {speed:.3g} times real time here.", highlight=False)
    console.print("The robot does not fit." if fit.errors else "The robot fits the scene.")
