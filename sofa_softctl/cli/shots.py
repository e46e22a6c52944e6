"""Movie and picture of a command: files, size and view, checked before anything runs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sofa_softctl.cli.files import check_name
from sofa_softctl.cli.options import view_of
from sofa_softctl.errors import UsageError
from sofa_softctl.view.movie.picture import SIZE, check_picture, save_picture
from sofa_softctl.view.movie.stage import check_size

if TYPE_CHECKING:
    from sofa_softctl.view.movie.animation import Animation
    from sofa_softctl.view.terminal.run import Terminal


@dataclass(frozen=True)
class Shots:
    """Movie and picture of an animation."""

    movie: Path | None = None
    """File of the movie, whose name is checked elsewhere."""
    picture: Path | None = None
    """File of the picture."""
    size: tuple[int, int] | None = None
    """Width and height of both [pixel], or None for the default of each."""
    time: float | None = None
    """Time that the picture shows [time], or None for the end."""
    view: Any = None
    """`view.movie.direction.View`, or None for one that shows the motion."""
    transparent: bool = False
    """The picture has no background."""

    def save_movie(self, animation: Callable[[], Animation], show: Terminal) -> None:
        """Write the movie, and name its file."""
        from sofa_softctl.view.browser.standalone import save_motion
        from sofa_softctl.view.movie.movie import SIZE

        assert self.movie is not None, "without a file there is no movie"
        with show.bar("Rendering", 1) as advance:
            size = self.size or SIZE
            save_motion(animation(), self.movie, size=size, view=self.view, progress=advance)
        show.show_file("Movie", self.movie)

    def save_picture(self, animation: Callable[[], Animation], show: Terminal) -> None:
        """Write the picture of the frame nearest to its time, and name its file."""
        assert self.picture is not None, "without a file there is no picture"
        shown = animation()
        save_picture(
            shown,
            self.picture,
            frame=-1 if self.time is None else int(np.abs(shown.time - self.time).argmin()),
            size=self.size or SIZE,
            view=self.view,
            transparent=self.transparent,
        )
        show.show_file("Picture", self.picture)


def shots_of(
    movie: Path | None,
    picture: Path | None,
    *,
    camera: str = "auto",
    size: str | None = None,
    time: float | None = None,
    transparent: bool = False,
    names: str = "--movie FILE or --picture FILE",
) -> Shots | None:
    """Return what options ask for, or None without a movie and a picture.

    Args:
        movie: File of the movie.
        picture: File of the picture.
        camera: View of both.
        size: Width and height of both, 'WIDTHxHEIGHT'.
        time: Time that the picture shows.
        transparent: Leave out the picture's background.
        names: Options that name the files, for errors.

    Raises:
        UsageError: An option is not valid, or has no file.
    """
    view = view_of(camera, movie or picture, names)
    if size is not None and (movie or picture) is None:
        raise UsageError(f"--size is of a movie or a picture: give {names} too.")
    for option, is_set in {
        "--transparent": transparent,
        "--picture-time": time is not None,
    }.items():
        if is_set and picture is None:
            raise UsageError(f"{option} is for a picture: give a file in .png too.")
    if picture is not None:
        check_name(lambda path: check_picture(path, transparent), picture)
    if time is not None and not math.isfinite(time):
        raise UsageError(f"--picture-time needs a finite time, got {time}.")
    if movie is None and picture is None:
        return None
    return Shots(movie, picture, _parse_size(size), time, view, transparent)


def _parse_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text.strip())
    if match is None:
        raise UsageError(f"--size needs WIDTHxHEIGHT in pixels, such as 1920x1080; got '{text}'.")
    size = int(match[1]), int(match[2])
    try:
        check_size(size)
    except ValueError as error:
        raise UsageError(f"--size: {error}") from error
    return size
