"""Play a motion on a robot, without a scene."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sofa_softctl.bridge.client.client import Stream
from sofa_softctl.bridge.course.state import Sample
from sofa_softctl.bridge.motion import Motion


def play(stream: Stream, motion: Motion) -> Iterator[tuple[int, list[Sample]]]:
    """Send the targets of a motion in real time, until the last one was reached.

    Yields, after each target, the number of targets sent and the samples since the last one.

    Args:
        stream: The device process.
        motion: The motion, checked.

    Raises:
        DeviceError: A device failed, or the robot was stopped.
    """
    for number, (time, target) in enumerate(_targets(stream, motion), 1):
        stream.send(time, target)
        stream.pace()
        yield min(number, len(motion.time)), stream.poll()


def _targets(stream: Stream, motion: Motion) -> Iterator[tuple[float, np.ndarray]]:
    """Yield all targets, then the last one until the device process has played all."""
    yield from zip(motion.time.tolist(), motion.targets, strict=True)
    last, step = motion.time[-1], np.median(np.diff(motion.time)) if len(motion.time) > 1 else 0.01
    for wait in range(1, 2 * stream.robot.stream.lookahead + 1):
        yield float(last + wait * step), motion.targets[-1]
