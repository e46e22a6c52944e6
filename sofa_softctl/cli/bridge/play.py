"""The command `softctl bridge play`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sofa_softctl.base.processes import defer_interrupts, ended_by_signals
from sofa_softctl.bridge.dry_run import DRY_RUN, annotate_errors
from sofa_softctl.cli.bridge.dialogue import HELP, stop_key
from sofa_softctl.cli.bridge.group import DryRun, bridge, load_robot
from sofa_softctl.cli.options import Force, Json, Plugin, Quiet, print_json

if TYPE_CHECKING:
    from sofa_softctl.bridge.config.robot import RobotConfig
    from sofa_softctl.bridge.course.state import Sample
    from sofa_softctl.bridge.motion import Motion
    from sofa_softctl.record.file import RecordFile
    from sofa_softctl.record.writer import RecordWriter
    from sofa_softctl.view.terminal.run import Terminal


@bridge.command(
    epilog="Examples:\n\n  softctl bridge play trunk.mcap --config hardware/trunk_servos.toml\n\n"
    "  softctl bridge play trunk.mcap --config hardware/trunk_servos.toml --speed 0.5 --dry-run"
)
def play(
    record: Annotated[Path, typer.Argument(help="Recording of a run: FILE.mcap.")],
    config: Annotated[Path, typer.Option(metavar="CONFIG", help="Configuration of the robot.")],
    channel: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Channel with a column for each actuator; inverse.displacement, or inverse.effort "
            "for actuators that are commanded in forces, torques or pressures.",
        ),
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            metavar="NAME,...",
            help="Actuator of each column of a channel whose columns the recording does not name.",
        ),
    ] = "",
    speed: Annotated[
        float, typer.Option(min=0.001, max=1000.0, help="Speed relative to the recording.")
    ] = 1.0,
    units: Annotated[
        str | None,
        typer.Option(metavar="UNITS", help="Units of a scene that declared none: 'mm, kg, s'."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE.mcap", help="Record commands and feedback."),
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
    plugin: Plugin = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Move a robot as a recorded run moved its actuators, without a scene.

    The whole recording is checked against the robot's limits before anything moves. The robot goes
    to its rest pose at the end, at Ctrl-C, SIGTERM and SIGHUP.
    """
    from sofa_softctl.bridge.motion import check_motion, motion_of
    from sofa_softctl.cli.files import check_name, check_outputs
    from sofa_softctl.record.file import RecordFile, check_suffix
    from sofa_softctl.record.record import read_record
    from sofa_softctl.units import Units
    from sofa_softctl.view.terminal.run import Terminal
    from sofa_softctl.view.words import prefix_output

    check_outputs(reads=[record, config], record=to)
    if to is not None:
        check_name(check_suffix, to)
    words = DRY_RUN if dry_run else ""
    show = Terminal(quiet=quiet or as_json)
    with ExitStack() as stack:
        stack.enter_context(ended_by_signals())
        stack.enter_context(prefix_output(words and f"{words} | "))
        stack.enter_context(annotate_errors(words))
        robot = load_robot(config, plugin)
        declared = None if units is None else Units.parse(units)
        names = [name.strip() for name in columns.split(",") if name.strip()]
        motion = motion_of(
            robot, read_record(record), channel=channel, columns=names, units=declared, speed=speed
        )
        for warning in check_motion(robot, motion):
            show.note(warning, doubt=True)
        file = None if to is None else stack.enter_context(RecordFile(to, overwrite=force))
        about = {"played": str(record), "config": robot.path, "config_text": robot.text}
        summary = _play_motion(robot, motion, dry_run, show, file, about)
        if not as_json:
            show.show_report(summary.report({}))
            if to is not None:
                show.note(f"Record: {to}")
    if as_json:
        print_json(asdict(summary))


def _play_motion(
    robot: RobotConfig,
    motion: Motion,
    dry_run: bool,
    show: Terminal,
    file: RecordFile | None,
    about: dict[str, str],
) -> Any:
    """Play a motion, and return the summary after the robot went to rest."""
    from sofa_softctl.bridge.client.client import Stream
    from sofa_softctl.bridge.feedback import SampleRows
    from sofa_softctl.bridge.play import play
    from sofa_softctl.bridge.summary import summarise
    from sofa_softctl.scene.control.streams import write_rows

    rows = SampleRows(robot)
    with ExitStack() as stack:
        writer = stack.enter_context(_recording(file, about))

        def write_samples(samples: Sequence[Sample]) -> None:
            if writer is not None:
                write_rows(writer, "bridge", rows.of(samples), None)

        stream = Stream(robot, dry_run=dry_run)

        def keep_rest() -> None:  # the way to the rest pose, however it ends
            with defer_interrupts():
                write_samples(stream.poll())

        stack.callback(keep_rest)
        if stack.enter_context(stop_key(stream.stop_now)):  # until the robot is at rest
            show.note(HELP)
        stack.enter_context(stream)
        advance = stack.enter_context(show.bar("Playing", len(motion.time)))
        for count, samples in play(stream, motion):
            advance(count)
            write_samples(samples)
        statistics = stream.finish()
    return summarise(
        name="play",
        robot=robot.name,
        dry_run=dry_run,
        state=stream.state,
        statistics=statistics,
        steps=len(motion.time),
        paced=stream.paced,
    )


@contextmanager
def _recording(file: RecordFile | None, about: dict[str, str]) -> Iterator[RecordWriter | None]:
    """Yield a writer of a file, which is completed even after an error."""
    from sofa_softctl.record.status import COMPLETE, INTERRUPTED
    from sofa_softctl.record.writer import RecordWriter

    if file is None:
        yield None
        return
    writer, status = RecordWriter(file, about), COMPLETE
    try:
        yield writer
    except BaseException as error:
        status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else f"stopped: {error}"
        raise
    finally:
        with defer_interrupts():
            writer.close(status=status)
