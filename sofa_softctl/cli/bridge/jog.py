"""The command `softctl bridge jog`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.cli.bridge.dialogue import STOPPED, space_stops
from sofa_softctl.cli.bridge.group import Config, DryRun, bridge, load_robot
from sofa_softctl.cli.options import Plugin
from sofa_softctl.errors import ConfigError, UsageError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.bridge.config.robot import ActuatorConfig, RobotConfig
    from sofa_softctl.bridge.hand import ManualControl

KEYS = (
    "Keys: up or + and down or - move by a step; ] and [ double and halve the step; "
    "0 goes to rest; space stops at once; q ends."
)


@bridge.command(
    epilog="Examples:\n\n  softctl bridge jog hardware/trunk_servos.toml long_up\n\n"
    "  softctl bridge jog hardware/trunk_servos.toml long_up --by 2.0\n\n"
    "  softctl bridge jog hardware/trunk_servos.toml long_up --to 10 --speed 20 --hold 5"
)
def jog(
    config: Config,
    actuator: Annotated[str, typer.Argument(help="Name of the actuator.")],
    by: Annotated[
        float | None, typer.Option(help="Move by this much, in the actuator's unit.")
    ] = None,
    to: Annotated[
        float | None, typer.Option(help="Move to this position, in the actuator's unit.")
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0.1, max=100.0, help="Maximum speed, in percent of its rate.")
    ] = 10.0,
    hold: Annotated[
        float, typer.Option(min=0.0, max=3600.0, help="Time to stay there in s, with --by or --to.")
    ] = 1.0,
    dry_run: DryRun = False,
    plugin: Plugin = None,
) -> None:
    """Move one actuator by hand, slowly and within its limits; then it goes back to rest.

    By keys, or once with --by or --to. The other actuators stay where they are. Ctrl-C and
    space stop all motors immediately.
    """
    from sofa_softctl.bridge.hand import hand_on, slow_robot

    if by is not None and to is not None:
        raise UsageError("Give either --by or --to, not both.")
    robot = load_robot(config, plugin)
    index = index_of(robot, actuator)
    config_of_actuator = robot.actuators[index]
    if to is not None:
        _check_within(config_of_actuator, to)
    with hand_on(slow_robot(robot, speed / 100.0), dry_run=dry_run) as hand:
        show_notes(hand)
        if by is None and to is None:
            _by_keys(hand, index)
            hold = 0.0
        else:
            start = float(hand.goal[index])
            goal = start + by if by is not None else to
            assert goal is not None
            _check_within(config_of_actuator, goal)
            hand.go(index, goal)
        with space_stops(hand):
            _arrive(hand, index, hold)
            hand.stream.finish(hand.rest)
    typer.echo("At rest.")


def index_of(robot: RobotConfig, name: str) -> int:
    """Return the number of an actuator.

    Raises:
        ConfigError: No actuator has that name.
    """
    from sofa_softctl.base.suggestions import did_you_mean

    names = [actuator.name for actuator in robot.actuators]
    if name not in names:
        raise ConfigError(
            f"{robot.path}: there is no actuator '{name}'.{did_you_mean(name, names)} "
            f"Known: {', '.join(names)}."
        )
    return names.index(name)


def show_notes(hand: ManualControl) -> None:
    """Print the descriptions of the devices, and their notes."""
    stream = hand.stream
    dry = "dry run, nothing moves: " if stream.dry_run else ""
    for name, capabilities in stream.capabilities.items():
        typer.echo(f"{dry}{name}: {capabilities.description}")
        for note in capabilities.notes:
            typer.echo(f"{name}: {note}")


def _check_within(actuator: ActuatorConfig, position: float) -> None:
    low, high = actuator.position_min, actuator.position_max
    if not low <= position <= high:
        raise UsageError(
            f"'{actuator.name}' may go from {low:g} to {high:g} {actuator.unit}, not to "
            f"{position:g}. Choose a position within its limits."
        )


def _arrive(hand: ManualControl, index: int, hold: float) -> None:
    while not hand.arrived:
        hand.tick()
    for _ in range(round(hold / hand.period)):
        hand.tick()
    typer.echo(position_text(hand, index))


def position_text(hand: ManualControl, index: int) -> str:
    """Return the position of an actuator, in its unit and in the device's."""
    import numpy as np

    actuator = hand.actuators[index]
    command = float(hand.command[index])
    if command != command:
        return f"{actuator.name}: not moved yet"
    device = float(actuator.map.to_device(np.array(command)))
    text = f"{actuator.name}: {command:.4g} {actuator.unit}, device {device:.6g}"
    measured = float(hand.last.measured[index]) if hand.last is not None else float("nan")
    return text if measured != measured else f"{text}, measured {measured:.4g} {actuator.unit}"


def _by_keys(hand: ManualControl, index: int) -> None:
    from sofa_softctl.cli.bridge.dialogue import Answers, keys_at_once

    actuator = hand.actuators[index]
    span = actuator.position_max - actuator.position_min
    step = 0.01 * span
    answers = Answers()
    with keys_at_once():
        typer.echo(f"{KEYS} Step: {step:g} {actuator.unit}.")
        while True:
            hand.tick()
            match answers.key():
                case "up" | "+":
                    goal = hand.go(index, float(hand.goal[index]) + step)
                    typer.echo(f"to {goal:.4g} {actuator.unit}")
                case "down" | "-":
                    goal = hand.go(index, float(hand.goal[index]) - step)
                    typer.echo(f"to {goal:.4g} {actuator.unit}")
                case "]" | "[" as key:
                    step = min(step * (2.0 if key == "]" else 0.5), 0.1 * span)
                    typer.echo(f"step {step:.4g} {actuator.unit}")
                case "0":
                    typer.echo(f"to {hand.go(index, actuator.rest):.4g} {actuator.unit}")
                case " ":
                    typer.echo(STOPPED, err=True)
                    raise typer.Exit(ExitStatus.INTERRUPTED)
                case "q":
                    break
                case None if answers.ended:
                    break
