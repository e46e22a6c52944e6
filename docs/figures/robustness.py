"""Makes docs/figures/robustness_*: maps of studies of benchmarks/robustness, movies of failures.

A cell is a run: its error by the limit of the robot's criterion, the column `ratio`. Blue is
reached; a frame is the scene as it is. Studies without rows are left out. Run, after
`softctl batch run benchmarks/robustness/NAME.toml`: `python docs/figures/robustness.py`
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from sofa_softctl.batch import read

STUDIES = Path(__file__).parents[2] / "benchmarks" / "robustness"
LABELS = {
    "young_modulus": "modulus [kPa]",
    "mass": "mass [g]",
    "cup_mass": "mass of the cup [g]",
    "bend": "goal aside [mm]",
    "slope": "slope [degrees]",
    "friction": "friction",
    "start": "start angle [degrees]",
    "aside": "start aside [mm]",
    "askew": "start askew [degrees]",
}
SCALES = {"mass": 1e3, "cup_mass": 1e3}
"""From the scene's unit to that of the label."""
PANELS = {
    "finger": [("finger", "bend", "young_modulus", {"mass": 0.0218}),
               ("finger", "mass", "young_modulus", {"bend": 15.0})],
    "pneumatic_finger": [("pneumatic_finger", "bend", "young_modulus", {})],
    "ring": [("ring", "start", "young_modulus", {}), ("ring_ground", "friction", "slope", {})],
    "cup": [("cup", "cup_mass", "friction", {})],
    "gripper": [("gripper", "mass", "friction", {})],
    "pushing": [("pushing", "mass", "friction", {}), ("pushing_start", "askew", "aside", {})],
}  # fmt: skip
"""Pictures, and of each panel the study, the parameters across and upwards, and fixed ones."""
MOVIES = {
    "gripper": {"friction": 0.2, "mass": 0.12},
    "pushing_start": {"aside": 6.0, "askew": 0.0},
    "ring": {"young_modulus": 640.0, "start": 0.0},
}
"""Failures that are filmed."""
SCENE = {
    "finger": {"young_modulus": 600.0, "mass": 0.0218, "bend": 15.0},
    "pneumatic_finger": {"young_modulus": 150.0, "bend": 15.0},
    "ring": {"young_modulus": 80.0, "start": 0.0},
    "ring_ground": {"friction": 0.8, "slope": 0.0},
    "cup": {"friction": 0.9, "cup_mass": 0.016},
    "gripper": {"friction": 0.8, "mass": 0.03},
    "pushing": {"friction": 0.5, "mass": 0.03},
    "pushing_start": {"aside": 0.0, "askew": 0.0},
}
"""Values of the scenes themselves."""


def draw(axes, study, across, below, fixed):
    """A map of one study; returns what the colour bar is of."""
    rows = [
        row
        for row in read(STUDIES / f"{study}.study").rows.to_pylist()
        if row["index"] is not None and all(row[name] == value for name, value in fixed.items())
    ]
    x, y = (sorted({row[name] for row in rows}) for name in (across, below))
    grid = np.full((len(y), len(x)), np.nan)
    for row in rows:
        i, j = y.index(row[below]), x.index(row[across])
        grid[i, j] = np.inf if row["status"] != "OK" or row["ratio"] is None else row["ratio"]
        text = {"TIMEOUT": "time", "DIVERGED": "NaN"}.get(row["status"], "error")
        if row["status"] == "OK":
            text = _text(grid[i, j])
        far = grid[i, j] > 3.0 or grid[i, j] < 0.25
        axes.text(j, i, text, ha="center", va="center", color="w" if far else "k", fontsize=8)
    shown = np.clip(np.log2(np.maximum(grid, 1e-3)), -3.0, 3.0)
    drawn = axes.imshow(shown, origin="lower", cmap="RdBu_r", vmin=-3.0, vmax=3.0, aspect="auto")
    axes.grid(False)
    for axis, name, values in ((axes.xaxis, across, x), (axes.yaxis, below, y)):
        axis.set_ticks(
            range(len(values)), [f"{value * SCALES.get(name, 1.0):.4g}" for value in values]
        )
        axis.set_label_text(LABELS[name])
    own = SCENE[study]
    if own[across] in x and own[below] in y:
        place = (x.index(own[across]) - 0.48, y.index(own[below]) - 0.48)
        from matplotlib.patches import Rectangle

        axes.add_patch(Rectangle(place, 0.96, 0.96, fill=False, lw=2.0, ec="k"))
    return drawn


def _text(ratio):
    """A ratio in three or four letters, so that 1.02 does not look like 1."""
    if np.isinf(ratio):
        return "lost"
    if ratio < 0.005 or ratio >= 99.5:
        return "0" if ratio < 1.0 else "> 99"
    return f"{ratio:.2f}" if 0.94 < ratio < 1.06 else f"{ratio:.2g}"


def small_movie(study, values):
    """The movie of a run, made if need be, with a third of its frames, 400 pixels wide."""
    from PIL import Image, ImageSequence

    folder = STUDIES / f"{study}.study"
    rows = read(folder).rows.to_pylist()
    [row] = [row for row in rows if all(row[name] == value for name, value in values.items())]
    movie = folder / "movies" / f"{row['run']}.gif"
    if not movie.exists():
        command = [sys.executable, "-m", "sofa_softctl.cli", "batch", "rerun"]
        subprocess.run([*command, str(folder), row["run"], "--movie"], check=True)
    with Image.open(movie) as whole:
        time = whole.info["duration"]
        frames = [
            frame.convert("RGB").resize((400, 300)).quantize(32, dither=Image.Dither.NONE)
            for k, frame in enumerate(ImageSequence.Iterator(whole))
            if k % 3 == 0
        ]
    path = Path(__file__).parent / f"robustness_{study}.gif"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=3 * time, loop=0, optimize=True
    )


def main():
    """Draw what has rows."""
    from matplotlib.figure import Figure

    for study, values in MOVIES.items():
        if (STUDIES / f"{study}.study").exists():
            small_movie(study, values)
    for name, panels in PANELS.items():
        there = [panel for panel in panels if (STUDIES / f"{panel[0]}.study").exists()]
        if not there:
            continue
        path = Path(__file__).parent / f"robustness_{name}.png"
        figure = Figure(figsize=(4.1 * len(there) + 0.7, 3.4), dpi=130, layout="constrained")
        for k, panel in enumerate(there):
            axes = figure.add_subplot(1, len(there), k + 1)
            drawn = draw(axes, *panel)
        bar = figure.colorbar(drawn, ax=figure.axes, label="error / limit")
        bar.set_ticks(range(-3, 4), labels=["1/8", "1/4", "1/2", "1", "2", "4", "8"])
        figure.savefig(path)


if __name__ == "__main__":
    main()
