"""Controls of a page: playing, status, parameters, efforts, keys, plots."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sofa_softctl.scene.session.session import Session
from sofa_softctl.view.browser.charts import Charts
from sofa_softctl.view.browser.files import Files
from sofa_softctl.view.browser.goals import GoalHandles, goal_points
from sofa_softctl.view.browser.inputs import Efforts, Keys, Parameters
from sofa_softctl.view.browser.inspector import Inspector
from sofa_softctl.view.browser.markdown import as_plain
from sofa_softctl.view.browser.motion import LiveMotion, RecordedMotion
from sofa_softctl.view.browser.player import Player
from sofa_softctl.view.browser.stage import Stage

SPEEDS = {"x 0.1": 0.1, "x 0.25": 0.25, "x 0.5": 0.5, "x 1": 1.0, "x 2": 2.0, "fast": math.inf}
"""Simulated time by wall time of each choice."""
TIME_AHEAD = 1.25
"""End of the time slider by the time reached, so that it is not moved with each step [-]."""

WARNINGS_SHOWN = 20
"""Number of the last warnings of the scene that are shown."""


class Panel:
    """Controls of a page, made for its motion.

    Args:
        server: Server of viser.
        stage: Objects of the page.
        player: Playing of the motion.
        title: Title of the panel.
    """

    def __init__(self, server: Any, stage: Stage, player: Player, title: str) -> None:
        self._stage, self._player = stage, player
        gui, motion, request = server.gui, player.motion, player.request
        self._session: Session | None = player.session
        self._unit = motion.frame(0)[0].time_unit
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.set_panel_label(title)
        gui.main_panel.dock_right()
        self._add_controls(gui)
        self._goals = self._charts = self._inspector = self._warnings = None
        if self._session is not None:
            points = goal_points(self._session)
            self._goals = GoalHandles(server, stage, points, request)
            if any(point.follow is not None for point in points):
                button = gui.add_button("Follow the scene's goal", hint="Undo moves by hand")
                self._on_click(button, self._goals.follow_scene)
        self._status = gui.add_markdown("")  # below the buttons, which stay where they are
        tabs = gui.add_tab_group()
        if self._session is not None:
            with tabs.add_tab("Plots"):
                self._charts = Charts(gui, self._session)
            with tabs.add_tab("Scene"):
                self._add_scene(gui, self._session)
            with tabs.add_tab("Components"):
                self._inspector = Inspector(server, stage, self._session, request)
        with tabs.add_tab("Files"):
            self._files = Files(gui, player, title)
        self.show_objects()
        self.show_state()

    def _add_scene(self, gui: Any, session: Session) -> None:
        """Add what changes the scene, and what is left out of its picture."""
        player = self._player
        if player.open_scene is not None:
            Parameters(gui, session, player.request, player.open_again)
        Efforts(gui, session, player.request)
        Keys(gui, session, player.request)
        if notes := self._stage.notes:
            gui.add_markdown("\n\n".join(map(as_plain, notes)))
        self._warnings = gui.add_markdown("")

    def _add_controls(self, gui: Any) -> None:
        player = self._player
        self._play = gui.add_button("Play")
        self._on_click(self._play, player.toggle)
        actions: dict[str, Callable[[], object]] = {"Step": player.step, "Reset": self._reset}
        if isinstance(player.motion, LiveMotion) and player.motion.has_snapshots:
            actions |= {"Keep": player.motion.keep, "Return": player.motion.restore}
        group = gui.add_button_group("", tuple(actions), hint="Return: to the state of Keep")
        group.on_click(lambda event: player.request(actions[str(event.target.value)]))
        self._speed = gui.add_dropdown(
            "Speed", tuple(SPEEDS), initial_value="x 1", hint="Simulated by real time"
        )
        self._speed.on_update(
            lambda event: player.request(lambda: player.set_speed(SPEEDS[event.target.value]))
        )
        look = gui.add_button("Look at the robot", hint="Turn your camera to it")
        look.on_click(self._turn_camera)
        end, label = self._slider_end(), f"t [{self._unit}]" if self._unit else "t"
        begin = float(self._player.motion.times[0])
        self._time = gui.add_slider(label, begin, end, self._interval(), begin)
        self._time.on_update(self._move_time)
        for label, key, action in (
            ("Play or pause", "P", player.toggle),
            ("Step", "N", player.step),
        ):
            command = gui.add_command(label, hotkey=key)
            command.on_trigger(lambda event, action=action: player.request(action))

    def _reset(self) -> None:
        """Return to the begin, and to the scene's own goals."""
        if self._goals is not None:
            self._goals.follow_scene()
        self._player.reset()
        self._time.max = self._slider_end()

    def _on_click(self, button: Any, action: Callable[[], object]) -> None:
        button.on_click(lambda event: self._player.request(action))

    def _turn_camera(self, event: Any) -> None:
        """Turn the camera of one viewer to the present frame."""
        player = self._player
        if event.client is not None:
            camera, motion = event.client.camera, player.motion
            player.request(lambda: self._stage.place_camera(camera, motion.frame(motion.index)[0]))

    def _move_time(self, event: Any) -> None:
        if event.client is not None:  # not moved by `show_time`
            moment = float(event.target.value)
            self._player.request(lambda: self._player.show_time(moment))

    def _interval(self) -> float:
        """Return the time between two frames that the slider tells apart [time]."""
        if self._session is not None:
            return self._session.dt
        times = self._player.motion.times
        return float(np.diff(times).min()) if len(times) > 1 else 1.0

    def _slider_end(self) -> float:
        motion = self._player.motion
        end = float(motion.times[-1])
        if isinstance(motion, RecordedMotion):
            return max(end, float(motion.times[0]) + 1e-9)
        assert self._session is not None
        return max(TIME_AHEAD * end, self._session.duration or 1.0)

    def show_objects(self) -> None:
        """Show the goals of the present frame, and the nodes of the component that is chosen."""
        if self._goals is not None:
            self._goals.show()
        if self._inspector is not None:
            self._inspector.show()

    def show_state(self) -> None:
        """Show time, status and plots."""
        player = self._player
        motion = player.motion
        player.message = self._files.show() or player.message
        lines = [f"**t = {motion.time:.3f} {self._unit}**".replace(" **", "**"), *motion.status()]
        if self._session is not None and (warnings := self._session.warnings):
            lines.append(f"Warnings: {len(warnings)}, see *Scene*.")
            shown = [f"**Warning**: {as_plain(text)}" for text in warnings[-WARNINGS_SHOWN:]]
            _assign(self._warnings, "content", "\n\n".join(shown))
        if player.message:
            lines.append(f"**{as_plain(player.message)}**")
        _assign(self._status, "content", "\n\n".join(lines))
        _assign(self._play, "label", "Pause" if player.is_playing else "Play")
        if (end := self._slider_end()) > self._time.max and motion.times[-1] > self._time.max:
            self._time.max = end
        if abs(self._time.value - motion.time) > self._time.step:
            self._time.value = motion.time
        if self._charts is not None:
            self._charts.show()


def _assign(handle: Any, name: str, value: Any) -> None:
    """Set a property of a control if it has changed: each setting is sent."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)
