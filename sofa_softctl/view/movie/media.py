"""Pictures and movies that a notebook shows."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np

from sofa_softctl.base.files import replace_atomically
from sofa_softctl.view.movie.encoding import write_picture

EMBEDDED_MOVIE_MAX = 50_000_000
"""Largest movie that a notebook gets a copy of [bytes]."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Picture that a notebook shows."""

    pixels: np.ndarray = field(repr=False)
    """Red, green, blue, and opacity if it is transparent, from 0 to 255, shape (h, w, 3 or 4)."""

    def save(self, path: str | Path) -> None:
        """Write the picture as a PNG or JPEG."""
        with replace_atomically(Path(path)) as name:
            write_picture(name, self.pixels)

    def _repr_png_(self) -> bytes:
        from PIL import Image

        file = BytesIO()
        Image.fromarray(self.pixels).save(file, "png")
        return file.getvalue()


@dataclass(frozen=True)
class Movie:
    """Movie that a notebook shows."""

    path: Path
    """Path of the file."""

    def _repr_html_(self) -> str:
        if self.path.stat().st_size > EMBEDDED_MOVIE_MAX:
            return f"{self.path} is too large to be shown here."
        if self.path.suffix == ".html":
            page = html.escape(self.path.read_text(encoding="utf-8"))
            return f'<iframe srcdoc="{page}" width="100%" height="480"></iframe>'
        data = base64.b64encode(self.path.read_bytes()).decode()
        if self.path.suffix == ".gif":
            return f'<img alt="movie of the run" src="data:image/gif;base64,{data}">'
        return f'<video controls loop src="data:video/mp4;base64,{data}"></video>'
