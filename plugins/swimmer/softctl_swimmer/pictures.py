"""Pictures of planned gaits: their course, and the swimmer with the potential on its skin."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from softctl_swimmer.flow.potential import Flow
from softctl_swimmer.planning.motion_map import HINGES, MotionMap
from softctl_swimmer.planning.poses import rotation, velocity

COLOR_QUANTILE = 0.98
"""Fraction of all potentials that the colours resolve [-]; a few at tips are larger."""


def save_plot(path: Path, at: MotionMap, a: np.ndarray, u: np.ndarray, dt: float) -> None:
    """Save a picture of angles and torques over time, and of the path of the centre of mass.

    Args:
        path: PNG, PDF or SVG.
        at: Coordinates and places.
        a: Coordinates, shape (K, 6 + n).
        u: Torques over their limit, shape (K - 1, n).
        dt: Time step [s].
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    panels = figure.subplot_mosaic([["angle", "way"], ["torque", "way"]])
    time = dt * np.arange(len(a))
    for j, (angle, torque) in enumerate(zip(a[:, HINGES].T, u.T, strict=True)):
        panels["angle"].plot(time, angle, label=f"hinge {j + 1}")
        panels["torque"].step(time[:-1], torque, where="post")
    panels["angle"].set(ylabel="angle [rad]", xlabel="time [s]")
    panels["torque"].set(ylabel="torque over its limit [-]", xlabel="time [s]")
    panels["angle"].legend()
    places = at.at(a).value
    for rows, label in ((at.centre, "centre of mass"), (at.nose, "nose")):
        x, y, _ = 100.0 * places[:, list(rows)].T
        (line,) = panels["way"].plot(x, y, label=label)
        panels["way"].plot(x[-1], y[-1], "o", color=line.get_color())
    panels["way"].set(xlabel="x [cm]", ylabel="y [cm]", aspect="equal")
    panels["way"].legend()
    figure.savefig(path, dpi=120)


def animate(
    path: Path,
    flow: Flow,
    a: np.ndarray,
    dt: float,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Save a GIF of the swimmer, coloured by the fluid's potential f(q) xi on its skin [m^2/s].

    Args:
        path: The GIF.
        flow: Flow around the swimmer, solved once for each frame.
        a: Coordinates at instants, shape (K, 6 + n).
        dt: Time between them [s].
        progress: Called after each frame with the numbers of finished and of all frames.
    """
    import matplotlib as mpl
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    xi = velocity(a[:-1], a[1:], dt)
    corners, potentials = [], []
    for k, (coordinates, speed) in enumerate(zip(a[1:], xi, strict=True)):
        phi = flow.solve(coordinates[HINGES]).f @ speed
        corners.append(_corners(flow, coordinates))
        potentials.append(phi)
        if progress is not None:
            progress(k + 1, len(xi))
    triangles = _triangles(flow)
    potential_max = float(np.quantile(np.abs(potentials), COLOR_QUANTILE)) or 1.0
    colors = mpl.colormaps["RdBu_r"]
    norm = mpl.colors.Normalize(-potential_max, potential_max)
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot(projection="3d")
    _frame(axes, np.concatenate(corners))
    skin = Poly3DCollection(corners[0][triangles], linewidth=0.4, clip_on=False)
    axes.add_collection3d(skin)
    color_scale = mpl.cm.ScalarMappable(norm, colors)
    figure.colorbar(color_scale, ax=axes, shrink=0.6, label="potential on the skin [m²/s]")
    title = axes.set_title("")

    def draw(k: int) -> list[Any]:
        skin.set_verts(corners[k][triangles])
        shades = colors(norm(potentials[k][triangles].mean(axis=1)))
        skin.set(facecolor=shades, edgecolor=shades)
        title.set_text(f"t = {(k + 1) * dt:.2f} s")
        return [skin, title]

    movie = FuncAnimation(figure, draw, frames=len(corners), blit=False)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        new = Path(folder) / path.name
        movie.save(new, writer=PillowWriter(fps=max(round(1.0 / dt), 1)), dpi=90)
        new.replace(path)


def _corners(flow: Flow, a: np.ndarray) -> np.ndarray:
    """Return the vertices of all skins in space [m], shape (P, 3)."""
    R, p = flow.swimmer.poses(a[HINGES])
    R0, x = rotation(a[None, 3:6])[0], a[:3]
    local = [skin.vertices @ Rk.T + pk for skin, Rk, pk in zip(flow.skins, R, p, strict=True)]
    corners: np.ndarray = x + np.concatenate(local) @ R0.T
    return corners


def _triangles(flow: Flow) -> np.ndarray:
    counts = np.cumsum([0, *(len(skin.vertices) for skin in flow.skins)])
    pairs = zip(flow.skins, counts, strict=False)
    return np.concatenate([skin.triangles + first for skin, first in pairs])


def _frame(axes: Any, points: np.ndarray) -> None:
    """Set fixed axes of equal scale, seen from above and behind."""
    low, high = points.min(axis=0) - 0.02, points.max(axis=0) + 0.02
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.05)
    axes.set(xlabel="x [m]", ylabel="y [m]", zticks=[])
    axes.view_init(elev=50.0, azim=-80.0)
