"""One frame of an animation as a picture in print quality."""

from __future__ import annotations

from pathlib import Path

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.errors import SoftctlError
from sofa_softctl.view.movie.animation import Animation, check_animation
from sofa_softctl.view.movie.direction import View
from sofa_softctl.view.movie.encoding import write_picture
from sofa_softctl.view.movie.stage import Stage

SUFFIXES = (".png", ".jpg", ".jpeg")
SIZE = (1920, 1440)
"""Default width and height [pixel]."""
SAMPLES = 4
"""Samples of a pixel along each side."""


def save_picture(
    animation: Animation,
    path: str | Path,
    *,
    frame: int = -1,
    size: tuple[int, int] = SIZE,
    view: View | None = None,
    transparent: bool = False,
) -> None:
    """Write a frame of an animation as a PNG or JPEG.

    Args:
        animation: Contents of the picture; the camera is placed so that all frames would fit.
        path: File to write; it appears when it is complete.
        frame: Index of the frame; negative ones count from the end.
        size: Width and height [pixel].
        view: View of the camera. By default, one that shows the motion.
        transparent: Leave out the background and the clock. PNG only.

    Raises:
        SoftctlError: Another suffix, or a JPEG that should be transparent.
        ValueError: An animation that cannot be shown, a frame or a size out of range.
    """
    path = Path(path)
    check_picture(path, transparent)
    check_animation(animation)
    count = len(animation.time)
    if not -count <= frame < count:
        raise ValueError(f"There is no frame {frame}: the animation has {count} frames.")
    stage = Stage(animation, size, view=view, samples=SAMPLES)
    picture = stage.picture(frame % count, transparent=transparent)
    with replace_atomically(path) as name:
        write_picture(name, picture)


def check_picture(path: Path, transparent: bool = False) -> None:
    """Raise SoftctlError if no picture of that suffix can be written."""
    if path.suffix not in SUFFIXES:
        raise SoftctlError(f"A picture needs a name in .png, .jpg or .jpeg, got '{path}'.")
    if transparent and path.suffix != ".png":
        raise SoftctlError(
            f"A picture with a transparent background needs a name in .png, got '{path}'."
        )
