"""AnimationEditor (SoftRobots): a state that moves along the frames of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.base.source_line import describe
from sofa_softctl.runtime.components.playback.files import FileComponent
from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.types import Bool, Real, Text, UInt
from sofa_softctl.runtime.core.event import Event
from sofa_softctl.runtime.helper import message
from sofa_softctl.runtime.helper.message import complain

_LEFT, _RIGHT = chr(18), chr(20)


class AnimationEditor(FileComponent):
    """Puts the state of its node where a frame of a file says, at the start of steps.

    The first frame counts at once; the key M, as with Ctrl in SOFA, plays and pauses, a frame each
    `frameTime`; arrows go one frame on or back. With `dx` it plays without keys, by frames in which
    a node has moved so far. Frames cannot be made, changed or written here.

    Source: SoftRobots' AnimationEditor.
    """

    maxKeyFrame = UInt(150, "Last frame to which it plays.")
    filename = Text("animation.txt", "File of the frames.", follows="start")
    loop = Bool(False, "Begin anew after the last key frame.")
    load = Bool(True, "Read the file at init.", follows="start")
    dx = Real(0.0, "Move by displacement instead of time; backward if negative.", unit="length")
    frameTime = Real(0.01, "Time of each frame.", unit="time")
    drawTimeline = Bool(True, "Unused.")
    drawSize = Real(0.1, "Unused.")
    drawTrajectory = Bool(False, "Unused.")
    cursor = UInt(0, "Frame.")

    def init(self) -> None:
        """Read the file."""
        self._state: Any = self._context.find_upward("state") if self._context else None
        if self._state is None:
            raise self.fault("needs a MechanicalObject in its node, added before it.")
        self._frames = self._state.position.get()[None].copy()
        self._last_key, self._waiting, self._playing = 0, False, False
        self._time, self._ahead = 0.0, 0.0
        if self.load.get():
            self._load(self.find(self.filename.get()))

    def _load(self, path: str) -> None:
        try:
            with open(path, encoding="ascii") as file:
                lines = file.read().splitlines()
            shape = [int(line.partition(":")[2]) for line in lines[1:3]]
            keys = [int(word) for word in lines[3].partition(":")[2].split()]
            rows = [reading.first_numbers(line) for line in lines[4 : 4 + shape[0]]]
            frames = np.array(rows).reshape(*shape, self._state.coord_size)
        except OSError as error:
            message.warning(
                self,
                f"{describe(self._where)}: {self.describe()} has no file '{path}' "
                f"({error.strerror}): it moves nothing.",
            )
            return
        except (ValueError, IndexError) as error:
            complain(self, self.fault(f"cannot read frames from '{path}' ({error})."))
            return
        if frames.shape[1] != self._state.count:
            problem = f"has frames of {frames.shape[1]} nodes, but there are {self._state.count}."
            complain(self, self.fault(problem))
            return
        self._frames, self._last_key, self._waiting = frames, max(keys, default=0), True
        self.cursor.set(0)
        if self.maxKeyFrame.get() < len(frames):
            self.maxKeyFrame.set(len(frames) + len(frames) // 2)

    def reset(self) -> None:
        """Begin with the first frame again."""
        self.cursor.set(0)
        self._time, self._waiting = 0.0, True

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"at": (self._waiting, self._playing, self._time, self._ahead)}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._waiting, self._playing, self._time, self._ahead = snapshot["at"]

    def handle(self, event: Event) -> None:
        """Hear keys, and move at the start of a step."""
        if not self.listening.get():
            return
        if event["type"] == "KeypressedEvent" and not self.dx.isSet():
            self._press(event["key"])
        elif event["type"] == "AnimateBeginEvent":
            if self.dx.isSet():
                self._go_by_displacement()
            elif self._playing:
                self._play()
            if self._waiting and self.cursor.get() < len(self._frames):
                position = self._state.position
                np.copyto(position.get(), self._frames[self.cursor.get()])
                position.touch()
            self._waiting = False

    def _press(self, key: str) -> None:
        if key == "M":
            self._playing = not self._playing
        elif key in (_LEFT, _RIGHT):
            wanted = self.cursor.get() + (1 if key == _RIGHT else -1)
            self._waiting = 0 < wanted <= self.maxKeyFrame.get()
            self.cursor.set(min(max(wanted, 0), self.maxKeyFrame.get()))

    def _play(self) -> None:
        self._time += self.dt
        if self._time < self.frameTime.get():
            return
        self._time = 0.0
        if self.cursor.get() >= self.maxKeyFrame.get():
            self._playing = False
            return
        self.cursor.set(self.cursor.get() + 1)
        self._waiting = True
        if self.loop.get() and self.cursor.get() > self._last_key:
            self.cursor.set(0)

    def _go_by_displacement(self) -> None:
        """To the last frame before a node has moved by dx since the present one, as SOFA counts."""
        dx, start = self.dx.get(), self.cursor.get()
        way, end = (1, self._last_key) if dx > 0.0 else (-1, 0)
        if dx == 0.0 or start == end:
            return
        cursor, far = start + way, False
        while not far and cursor != end:
            moved = self._frames[cursor, :, :3] - self._frames[start, :, :3]
            for distance in np.linalg.norm(moved, axis=1):
                far = distance > way * (dx + self._ahead)
                self._ahead = self._ahead + dx if far else 0.0
                if far:
                    break
            cursor += -way if far else way
        self._waiting = cursor != start
        self.cursor.set(cursor)
