"""Text in the corners of a picture."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

COLOR = "#5b6470"


def write_text(picture: np.ndarray, texts: dict[str, str], height: int) -> np.ndarray:
    """Return a picture with texts in its corners, shape (height, width, 3).

    Args:
        picture: Pixels, shape (height, width, 3).
        texts: Texts by their corners, 'lower left' or 'upper left'; "" for none.
        height: Height of the font [pixel].
    """
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    draw = ImageDraw.Draw(image)
    margin = 0.6 * height
    for corner, text in texts.items():
        if text:
            lower = corner == "lower left"
            place = (margin, image.height - margin if lower else margin)
            draw.text(place, text.rstrip(), COLOR, _font(height), anchor="ls" if lower else "la")
    return np.asarray(image)


@functools.cache
def _font(height: int) -> Any:
    """Return the font of plots."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), height)
