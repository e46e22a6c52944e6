"""Encode pictures: GIF with one palette, MP4, PNG."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.errors import SoftctlError

CODEC = "libx264"
"""Codec of MP4 files."""
RATE_FACTOR = 10
"""Quality of MP4 files, from 0, without loss, to 51: errors are below a step of the display."""


def write_picture(path: Path, picture: np.ndarray) -> None:
    """Write pixels (height, width, 3), or 4 with their opacity, as a PNG; 3 also as a JPEG."""
    from PIL import Image

    Image.fromarray(picture).save(path, optimize=True, quality=95)


def check_encoder(path: Path) -> None:
    """Raise SoftctlError if a movie of that suffix cannot be encoded here: MP4 needs ffmpeg."""
    if path.suffix != ".mp4":
        return
    advice = "Install one (imageio-ffmpeg brings one, IMAGEIO_FFMPEG_EXE names another), or ask "
    advice += f"for a GIF: '{path.with_suffix('.gif')}'."
    try:
        import imageio_ffmpeg
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise SoftctlError(
            f"Movies in .mp4 need the extra [view] ({error}): {install_command('view')}."
        ) from error
    try:
        ffmpeg = imageio_ffmpeg.get_ffmpeg_exe()
        command = [ffmpeg, "-hide_banner", "-encoders"]
        encoders = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        raise SoftctlError(
            f"Movies in .mp4 need ffmpeg, and none works: {error}. {advice}"
        ) from error
    if CODEC not in encoders:
        raise SoftctlError(f"'{ffmpeg}' has no encoder {CODEC} for movies in .mp4. {advice}")


def palette_of(pictures: list[np.ndarray]) -> Any:
    """Return one palette for all pictures, so that unchanged pixels cost nothing.

    Colors count by the square root of their pixels. Measured on a trunk with cables: the largest
    error of the few red pixels falls from 25 to 15 of 255, the error of the others stays.
    """
    from PIL import Image

    pixels = np.concatenate([picture.reshape(-1, 3) for picture in pictures]) >> 2  # 6 bits each
    counts = np.bincount(pixels @ np.array([4096, 64, 1]))
    (present,) = counts.nonzero()
    colors = np.stack([present >> 12, present >> 6 & 63, present & 63], axis=1) * 4 + 2
    weighted = np.repeat(colors, np.ceil(np.sqrt(counts[present])).astype(int), axis=0)  # (n, 3)
    image = Image.fromarray(weighted[None].astype(np.uint8))
    return image.quantize(240, method=Image.Quantize.MEDIANCUT, kmeans=4)


def delays_of(count: int, frame_rate: float) -> list[int]:
    """Return the duration of each frame [ms]: whole hundredths of a second without drift."""
    return [int(d) for d in 10 * np.diff(np.round(100.0 / frame_rate * np.arange(count + 1)))]


def write_gif(path: Path, pictures: Iterator[np.ndarray], palette: Any, delays: list[int]) -> None:
    """Write pictures as a GIF; `delays`: duration of each frame [ms]."""
    from PIL import Image

    frames = (
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    )
    next(frames).save(
        path,
        save_all=True,
        append_images=frames,
        duration=delays,
        loop=0,
        optimize=True,  # unchanged pixels become transparent
        disposal=1,
    )


def write_mp4(path: Path, pictures: Iterator[np.ndarray], frame_rate: float) -> None:
    """Write pictures as an MP4; `frame_rate` in frames per second."""
    import imageio_ffmpeg

    first = next(pictures)
    height, width = (side // 2 * 2 for side in first.shape[:2])  # even, for the codec
    writer: Any = imageio_ffmpeg.write_frames(
        str(path),
        (width, height),
        fps=frame_rate,
        codec=CODEC,
        quality=None,
        macro_block_size=1,
        output_params=["-preset", "veryfast", "-crf", str(RATE_FACTOR), "-movflags", "+faststart"],
    )
    with closing(writer):
        writer.send(None)
        for picture in chain([first], pictures):
            writer.send(np.ascontiguousarray(picture[:height, :width]))
