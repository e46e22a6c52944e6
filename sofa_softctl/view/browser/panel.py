"""Controls of a page: playing, status, parameters, efforts, keys, plots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sofa_softctl.units import symbol
from sofa_softctl.view.browser.charts import Charts
from sofa_softctl.view.browser.goals import GoalHandles, goal_points
from sofa_softctl.view.browser.inputs import Efforts, Keys, Parameters
from sofa_softctl.view.browser.motion import LiveMotion, Motion, RecordedMotion

if TYPE_CHECKING:
    from sofa_softctl.view.browser.page import Page

SPEEDS = {"x 0.1": 0.1, "x 0.25": 0.25, "x 0.5": 0.5, "x 1": 1.0, "x 2": 2.0, "fast": math.inf}
"""Simulated time by wall time of each choice."""
TIME_AHEAD = 1.25
"""End of the time slider by the time reached, so that it is not moved with each step [-]."""


class Panel:
    """Controls of a page, made for its motion.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        gui, motion = page.server.gui, page.motion
        self._session = motion.session if isinstance(motion, LiveMotion) else None
        self._unit = (
            symbol(self._session.units, "time") if self._session is not None else _unit(motion)
        )
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.set_panel_label(page.title)
        gui.main_panel.dock_right()
        self._status = gui.add_markdown("")
        self._add_controls(gui)
        self._goals = self._charts = None
        if self._session is not None:
            points = goal_points(self._session)
            self._goals = GoalHandles(page.server, page.stage, points, page.request)
            if any(point.follow is not None for point in points):
                button = gui.add_button(
                    "Follow the scene's goal", hint="Goals moved by hand return."
                )
                self._on_click(button, self._goals.follow_scene)
            Efforts(gui, self._session, page.request)
            Keys(gui, self._session, page.request)
            if page.open_scene is not None:
                Parameters(gui, self._session, page.request, page.open_again)
            self._charts = Charts(gui, self._session)
        if notes := page.stage.notes:
            gui.add_markdown("\n\n".join(notes))
        self.show_time()
        self.show_state()

    def _add_controls(self, gui: Any) -> None:
        page = self._page
        self._play = gui.add_button("Play")
        self._on_click(self._play, self._toggle)
        actions: dict[str, Callable[[], object]] = {"Step": page.step, "Reset": page.reset}
        if isinstance(page.motion, LiveMotion) and page.motion.session.backend.name == "embedded":
            actions |= {"Keep": page.motion.keep, "Return": page.motion.restore}
        group = gui.add_button_group("", tuple(actions), hint="Return: to the state of Keep")
        group.on_click(lambda event: page.request(actions[str(event.target.value)]))
        self._speed = gui.add_dropdown(
            "Speed", tuple(SPEEDS), initial_value="x 1", hint="Simulated by real time"
        )
        self._speed.on_update(
            lambda event: page.request(lambda: page.set_speed(SPEEDS[event.target.value]))
        )
        look = gui.add_button("Look at the robot", hint="Turn your camera to it")
        look.on_click(self._look)
        end = self._slider_end()
        self._time = gui.add_slider(f"t [{self._unit}]", 0.0, end, end / 1000.0, 0.0)
        self._time.on_update(self._move_time)
        for label, key, action in (
            ("Play or pause", "P", self._toggle),
            ("Step", "N", page.step),
        ):
            command = gui.add_command(label, hotkey=key)
            command.on_trigger(lambda event, action=action: page.request(action))

    def _on_click(self, button: Any, action: Callable[[], object]) -> None:
        button.on_click(lambda event: self._page.request(action))

    def _look(self, event: Any) -> None:
        """Turn the camera of one viewer to the present frame."""
        page = self._page
        if event.client is not None:
            camera = event.client.camera
            page.request(
                lambda: page.stage.place_camera(camera, page.motion.frame(page.motion.index)[0])
            )

    def _toggle(self) -> None:
        if self._page.playing and not self._page.motion.at_end:
            self._page.pause()
        else:
            self._page.play()

    def _move_time(self, event: Any) -> None:
        if event.client is not None:  # not moved by `show_time`
            moment = float(event.target.value)
            self._page.request(lambda: self._page.show_time(moment))

    def _slider_end(self) -> float:
        motion = self._page.motion
        end = float(motion.times[-1])
        if isinstance(motion, RecordedMotion):
            return max(end, 1e-9)
        assert self._session is not None
        return max(TIME_AHEAD * end, self._session.duration or 1.0)

    def show_time(self) -> None:
        """Show the goals of the present frame."""
        if self._goals is not None:
            self._goals.show()

    def show_state(self) -> None:
        """Show time, status and plots."""
        page = self._page
        motion = page.motion
        lines = [
            f"**t = {motion.time:.3f} {self._unit}**, frame {motion.index + 1} of {len(motion.times)}"
        ]
        lines += motion.status()
        if page.message:
            lines.append(f"**{_plain(page.message)}**")
        _assign(self._status, "content", "\n\n".join(lines))
        is_playing = page.playing and not motion.at_end
        _assign(self._play, "label", "Pause" if is_playing else "Play")
        if (end := self._slider_end()) > self._time.max and motion.times[-1] > self._time.max:
            self._time.max, self._time.step = end, end / 1000.0
        if abs(self._time.value - motion.time) > self._time.step:
            self._time.value = motion.time
        if self._charts is not None:
            self._charts.show()


def _unit(motion: Motion) -> str:
    """Return the unit of a recording's time."""
    return motion.frame(0)[0].time_unit or "time"


def _assign(handle: Any, name: str, value: Any) -> None:
    """Set a property of a control if it has changed: each setting is sent."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _plain(text: str) -> str:
    """Return a text without Markdown's marks."""
    return "".join(f"\\{mark}" if mark in "\\`*_{}[]<>#" else mark for mark in text)
