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
    """Sets its node's state to a frame of a file at the start of steps.

    It starts with the first frame. The key M, as with Ctrl in SOFA, plays and pauses, a frame per
    `frameTime`; arrows move one frame forward or back. With `dx` it plays without keys, by frames
    between which a node moves that far. It does not create, edit or write frames.

    Source: SoftRobots' AnimationEditor.
    """

    maxKeyFrame = UInt(150, "Last frame to which it plays.")
    filename = Text("animation.txt", "File of the frames.", follows="start")
    loop = Bool(False, "Restart after the last key frame.")
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
        self._last_key, self._is_pending, self._is_playing = 0, False, False
        self._time, self._excess = 0.0, 0.0
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
        self._frames, self._last_key, self._is_pending = frames, max(keys, default=0), True
        self.cursor.set(0)
        if self.maxKeyFrame.get() < len(frames):
            self.maxKeyFrame.set(len(frames) + len(frames) // 2)

    def reset(self) -> None:
        """Restart at the first frame."""
        self.cursor.set(0)
        self._time, self._is_pending = 0.0, True

    @override
    def snapshot(self) -> dict[str, Any]:
        return {"at": (self._is_pending, self._is_playing, self._time, self._excess)}

    @override
    def restore(self, snapshot: dict[str, Any]) -> None:
        self._is_pending, self._is_playing, self._time, self._excess = snapshot["at"]

    def handle(self, event: Event) -> None:
        """Handle keys, and move at the start of a step."""
        if not self.listening.get():
            return
        if event["type"] == "KeypressedEvent" and not self.dx.isSet():
            self._handle_key(event["key"])
        elif event["type"] == "AnimateBeginEvent":
            if self.dx.isSet():
                self._advance_by_displacement()
            elif self._is_playing:
                self._play()
            if self._is_pending and self.cursor.get() < len(self._frames):
                position = self._state.position
                np.copyto(position.get(), self._frames[self.cursor.get()])
                position.touch()
            self._is_pending = False

    def _handle_key(self, key: str) -> None:
        if key == "M":
            self._is_playing = not self._is_playing
        elif key in (_LEFT, _RIGHT):
            frame = self.cursor.get() + (1 if key == _RIGHT else -1)
            self._is_pending = 0 < frame <= self.maxKeyFrame.get()
            self.cursor.set(min(max(frame, 0), self.maxKeyFrame.get()))

    def _play(self) -> None:
        self._time += self.dt
        if self._time < self.frameTime.get():
            return
        self._time = 0.0
        if self.cursor.get() >= self.maxKeyFrame.get():
            self._is_playing = False
            return
        self.cursor.set(self.cursor.get() + 1)
        self._is_pending = True
        if self.loop.get() and self.cursor.get() > self._last_key:
            self.cursor.set(0)

    def _advance_by_displacement(self) -> None:
        """Move to the last frame before a node has moved by dx, as SOFA counts it."""
        dx, start = self.dx.get(), self.cursor.get()
        direction, end = (1, self._last_key) if dx > 0.0 else (-1, 0)
        if dx == 0.0 or start == end:
            return
        cursor, has_passed = start + direction, False
        while not has_passed and cursor != end:
            displacements = self._frames[cursor, :, :3] - self._frames[start, :, :3]
            for distance in np.linalg.norm(displacements, axis=1):
                has_passed = distance > direction * (dx + self._excess)
                self._excess = self._excess + dx if has_passed else 0.0
                if has_passed:
                    break
            cursor += -direction if has_passed else direction
        self._is_pending = cursor != start
        self.cursor.set(cursor)
