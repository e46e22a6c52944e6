"""The command `softctl bridge calibrate`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sofa_softctl.cli.bridge.dialogue import Answers, Dialogue, DialogueAborted, space_stops
from sofa_softctl.cli.bridge.group import Config, DryRun, bridge, load_robot
from sofa_softctl.cli.bridge.jog import index_of, show_notes
from sofa_softctl.cli.options import Plugin
from sofa_softctl.errors import ConfigError
from sofa_softctl.status import ExitStatus

if TYPE_CHECKING:
    from sofa_softctl.bridge.calibration import Calibration
    from sofa_softctl.bridge.config.robot import RobotConfig

EXCESS_MAX = 0.1
"""Fraction of its range by which an actuator may leave it, since the range is uncertain."""


@bridge.command(
    epilog="Examples:\n\n  softctl bridge calibrate hardware/trunk_servos.toml\n\n"
    "  softctl bridge calibrate hardware/trunk_servos.toml --only long_up --speed 2\n\n"
    "  printf '%s\\n' y 0.5 ok y | softctl bridge calibrate robot.toml --only left"
)
def calibrate(
    config: Config,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ACTUATOR", help="Calibrate only this actuator; may be repeated."),
    ] = None,
    speed: Annotated[
        float, typer.Option(min=0.1, max=5.0, help="Greatest speed, in percent of the rate.")
    ] = 5.0,
    dry_run: DryRun = False,
    plugin: Plugin = None,
) -> None:
    """Find direction and zero of each actuator, and write them to the file, after a copy of it.

    Each actuator moves a little, slowly; you answer questions, and move it to its rest pose. End of
    input, q or Ctrl-C stop all motors immediately, and write nothing; so do Ctrl-C and space while
    it goes to rest at the end.
    """
    from sofa_softctl.bridge.calibration import calibrations_of
    from sofa_softctl.bridge.config.write import changed_text, write_back

    robot = load_robot(config, plugin)
    changed_text(robot, {})  # raises if the file cannot be rewritten
    indices = [index_of(robot, name) for name in only or []] or list(range(len(robot.actuators)))
    try:
        changed = _calibrate_all(robot, indices, speed / 100.0, dry_run)
    except DialogueAborted:
        typer.echo("Ended. All motors are stopped, nothing was written.", err=True)
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    if not changed:
        typer.echo("Nothing was written.")
        return
    copy = write_back(robot, _changes(changed, calibrations_of(robot)))
    typer.echo(f"Written: {config}. The old file is {copy}.")


def _changes(
    new: dict[str, Calibration], old: dict[str, Calibration]
) -> dict[str, dict[str, float]]:
    """Return the differences, by actuator and key of the file."""
    return {
        name: {
            key: value
            for key, value in asdict(calibration).items()
            if value != getattr(old[name], key)
        }
        for name, calibration in new.items()
    }


def _calibrate_all(
    robot: RobotConfig, indices: list[int], speed: float, dry_run: bool
) -> dict[str, Calibration]:
    """Return changed calibrations by actuator, if the user confirms them."""
    from sofa_softctl.bridge.calibration import calibrations_of
    from sofa_softctl.bridge.hand import hand_on, slow_robot, with_wider_limits

    answers, first = Answers(), calibrations_of(robot)
    with hand_on(slow_robot(robot, speed), dry_run=dry_run) as hand:  # nothing moves yet
        show_notes(hand)
        capabilities = hand.stream.capabilities
        used = _with_corrected_zeros(
            Dialogue(hand, answers), robot, with_wider_limits(robot, EXCESS_MAX, capabilities)
        )
    wide = with_wider_limits(slow_robot(used, speed), EXCESS_MAX, capabilities)
    with hand_on(wide, dry_run=dry_run) as hand:
        dialogue, start = Dialogue(hand, answers), calibrations_of(used)
        calibrations = dict(start)
        for index in indices:
            _calibrate(dialogue, used, index, calibrations)
        new = {name: value for name, value in calibrations.items() if value != first[name]}
        if not _confirm(dialogue, first, new):
            new = {}
        for index, actuator in enumerate(used.actuators):
            if new and calibrations[actuator.name] != start[actuator.name]:
                hand.rest[index] = hand.goal[index]  # by the old zero, which this stream has
        with space_stops(hand):
            hand.stream.finish(hand.rest)
        return new


def _with_corrected_zeros(dialogue: Dialogue, robot: RobotConfig, wide: RobotConfig) -> RobotConfig:
    """Return the robot with zeros that put actuators with invalid measurements at rest."""
    from sofa_softctl.bridge.calibration import calibrations_of, recalibrate
    from sofa_softctl.bridge.config.file import parse_robot
    from sofa_softctl.bridge.config.write import changed_text

    calibrations = {}
    measured = dialogue.hand.measured_at_start.tolist()
    for index, (actuator, limits) in enumerate(zip(robot.actuators, wide.actuators, strict=True)):
        low, high = limits.position_min, limits.position_max
        if not (measured[index] < low or measured[index] > high):
            continue
        question = (
            f"'{actuator.name}' measures {measured[index]:.4g} {actuator.unit}, outside its limits:"
            f" its zero is wrong. Is it at its rest pose, {actuator.rest:g}, now? y/n"
        )
        if dialogue.choose(question, "yn", moved=False) == "n":
            typer.echo("Move it there by hand, without power, and begin again.")
            raise DialogueAborted
        old = calibrations_of(robot)[actuator.name]
        calibrations[actuator.name] = recalibrate(actuator, old, measured[index], reversed_=False)
    if not calibrations:
        return robot
    text = changed_text(robot, _changes(calibrations, calibrations_of(robot)))
    return parse_robot(text, robot.path)


def _calibrate(
    dialogue: Dialogue, robot: RobotConfig, index: int, calibrations: dict[str, Calibration]
) -> None:
    """Find direction and zero of one actuator, until the configuration is valid."""
    from sofa_softctl.bridge.calibration import calibrations_of
    from sofa_softctl.bridge.config.write import changed_text

    actuator = robot.actuators[index]
    old = calibrations[actuator.name]
    while True:
        calibrations[actuator.name] = _query(dialogue, robot, index, old)
        try:
            changed_text(robot, _changes(calibrations, calibrations_of(robot)))
            return
        except ConfigError as error:
            calibrations[actuator.name] = old
            typer.echo(f"This does not fit: {error}")
            if dialogue.choose("r: again, s: skip the actuator, q: end", "rs") == "s":
                return


def _query(dialogue: Dialogue, robot: RobotConfig, index: int, old: Calibration) -> Calibration:
    from sofa_softctl.bridge.calibration import QUESTIONS, recalibrate

    actuator, hand = robot.actuators[index], dialogue.hand
    unit, rate = actuator.unit, hand.actuators[index].rate
    low, high = actuator.position_min, actuator.position_max
    typer.echo(
        f"\n'{actuator.name}' ({actuator.quantity}): {low:g} to {high:g} {unit}, "
        f"{actuator.rest:g} at rest, at most {rate:.3g} {unit}/s. Until its zero is known "
        f"it may go from {hand.low[index]:.4g} to {hand.high[index]:.4g} {unit}."
    )
    while True:
        when = "first" if dialogue.show(index, low, high) else "on its way back"
        question = f"It moved and came back. {QUESTIONS[actuator.quantity]} {when}?"
        answer = dialogue.choose(f"{question} y/n, r: again, s: skip, q: end", "ynrs")
        if answer == "s":
            return old
        if answer != "r":
            break
    sign = 1.0 if answer == "y" else -1.0
    question = (
        f"Is it at its rest pose, {actuator.rest:g} {unit}? ok, or by how much to move, such as 1 "
        "or -0.5; q: end"
    )
    while (distance := dialogue.distance(question)) is not None:
        dialogue.move_to(index, float(hand.goal[index]) + sign * distance)
    return recalibrate(actuator, old, float(hand.goal[index]), reversed_=sign < 0.0)


def _confirm(dialogue: Dialogue, old: dict[str, Calibration], new: dict[str, Calibration]) -> bool:
    if not new:
        typer.echo("\nDirections and zeros are as they were.")
        return False
    typer.echo()
    for name, value in new.items():
        was = old[name]
        typer.echo(f"{name}: sign {was.sign} -> {value.sign}, zero {was.zero:g} -> {value.zero:g}")
    return dialogue.choose("Write this to the file? y/n", "yn") == "y"
