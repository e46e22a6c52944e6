"""Trainings and scores on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.terminal.run import Terminal


class LearningTerminal(Terminal):
    """Shows progress of trainings, and tables of scores."""

    def prepare(self, maker: Any) -> None:
        """Make the map of a surrogate, with a line on its state."""
        if not getattr(maker, "surrogate", False):
            return
        with self.status("equilibria") as line:
            maker.prepare(line)

    @contextmanager
    def training(self, steps: int) -> Iterator[Callable[[Any], None]]:
        """A line on the present iteration; off a terminal, one for each tenth of the training."""
        shown = 0

        def say(point: Any) -> None:
            nonlocal shown
            share = point.steps / steps
            text = (
                f"{point.steps:,} of {steps:,} decisions, return {point.mean:.4g} ± "
                f"{point.deviation:.2g}, {point.length:.3g} decisions an episode"
            )
            if not math.isnan(point.success):
                text += f", {point.success:.0%} done"
            if point.lost:
                text += f", {point.lost:.0%} lost"
            left = point.seconds * (1.0 / share - 1.0)
            line(f"{text}; {left / 60.0:.0f} min more")
            if not self.console.is_terminal and share * 10.0 >= shown + 1:
                shown = math.floor(share * 10.0)
                self.console.print(text, highlight=False)

        with self.status("training") as line:
            yield say

    def scores(self, found: Mapping[str, Any]) -> None:
        """A table of scores."""
        table = Table(title="Score, without the noise of training", title_justify="left")
        for column in ("", "episodes", "mean return", "standard deviation", "decisions", "done"):
            table.add_column(column, justify="left" if not column else "right")
        for name, one in found.items():
            done = "" if one.success is None else f"{one.success:.0%}"
            table.add_row(
                name,
                str(len(one.returns)),
                f"{one.mean:.4g}",
                f"{one.deviation:.2g}",
                f"{np.mean(one.lengths):.4g}",
                done,
            )
        self.console.print(table)

    def gap(self, found: Mapping[str, Any]) -> None:
        """A line on what the exact model, the second of two scores, brings less."""
        if len(found) < 2:
            return
        own, exact = found.values()
        same = own.returns[: len(exact.returns)]
        gap = exact.mean - float(np.mean(same))
        self.console.print(
            f"Gap: {gap:.3g} on the exact model, {gap / max(abs(np.mean(same)), 1e-12):.2%}, "
            f"of the same {len(same)} starts.",
            highlight=False,
        )

    def film(
        self, env: Any, act: Callable[[np.ndarray], np.ndarray], seed: int, path: Path
    ) -> None:
        """A movie of an episode of a scene."""
        from sofa_softctl.view.movie.capture import Camera

        if not hasattr(env, "session"):
            raise SoftctlError("A movie is of a scene: this environment has none.")
        seen, _ = env.reset(seed=seed)
        camera, ended = Camera(env.session, path), False
        camera.capture_frame()
        while not ended:
            seen, _, done, cut, _ = env.step(act(seen).astype(np.float32))
            camera.capture_frame()
            ended = done or cut
        with self.bar("Rendering", 1) as advance:
            camera.save(progress=advance)
