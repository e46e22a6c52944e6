"""Trainings and scores on a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.terminal.run import Terminal
from sofa_softctl.view.terminal.table import Table


class LearningTerminal(Terminal):
    """Terminal with the progress of trainings, and tables of scores."""

    def prepare(self, maker: Any) -> None:
        """Compute the map of a surrogate, with a line on its state."""
        if not getattr(maker, "surrogate", False):
            return
        with self.status("equilibria") as line:
            maker.prepare(line)

    @contextmanager
    def training(self, steps: int) -> Iterator[Callable[[Any], None]]:
        """Show a line on the current iteration."""

        def show_progress(point: Any) -> None:
            fraction = point.steps / steps
            text = (
                f"{point.steps:,} of {steps:,} decisions, return {point.mean:.4g} ± "
                f"{point.deviation:.2g}, {point.length:.3g} decisions an episode"
            )
            if not math.isnan(point.success):
                text += f", {point.success:.0%} done"
            if point.lost:
                text += f", {point.lost:.0%} lost"
            remaining = point.seconds * (1.0 / fraction - 1.0)
            line(f"{text}; {remaining / 60.0:.0f} min more")

        with self.status("training") as line:
            yield show_progress

    def scores(self, by_name: Mapping[str, Any]) -> None:
        """Print a table of scores."""
        table = Table(title="Score, without the noise of training")
        for column in ("", "episodes", "mean return", "standard deviation", "decisions", "done"):
            table.add_column(column, justify="left" if not column else "right")
        for name, score in by_name.items():
            success = "" if score.success is None else f"{score.success:.0%}"
            table.add_row(
                name,
                str(len(score.returns)),
                f"{score.mean:.4g}",
                f"{score.deviation:.2g}",
                f"{np.mean(score.lengths):.4g}",
                success,
            )
        self.console.print(table)

    def gap(self, by_name: Mapping[str, Any]) -> None:
        """Print the loss of return on the exact model, the second of two scores."""
        if len(by_name) < 2:
            return
        score, exact = by_name.values()
        paired = score.returns[: len(exact.returns)]
        gap = exact.mean - float(np.mean(paired))
        self.console.print(
            f"Gap: {gap:.3g} on the exact model, {gap / max(abs(np.mean(paired)), 1e-12):.2%}, "
            f"of the same {len(paired)} starts.",
            highlight=False,
        )

    def film(
        self, env: Any, act: Callable[[np.ndarray], np.ndarray], seed: int, path: Path
    ) -> None:
        """Write a movie of an episode of a scene."""
        from sofa_softctl.view.movie.capture import Camera

        if not hasattr(env, "session"):
            raise SoftctlError("A movie needs a scene: this environment has none.")
        observation, _ = env.reset(seed=seed)
        camera, is_over = Camera(env.session, path), False
        camera.capture_frame()
        while not is_over:
            observation, _, terminated, truncated, _ = env.step(act(observation).astype(np.float32))
            camera.capture_frame()
            is_over = terminated or truncated
        with self.bar("Rendering", 1) as advance:
            camera.save(progress=advance)
