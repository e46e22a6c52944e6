"""Files that hold an affine transformation: .tfm, .trm, .txt and .xfm."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def read_matrix(path: Path) -> np.ndarray:
    """The transformation of a file, shape (4, 4).

    Args:
        path: A .tfm has 12 numbers in its line 'Parameters', nine row by row and the shift, which
            SOFA reads from its end; a .trm the shift and three rows in a line each; a .txt or .xfm
            four lines of four.

    Raises:
        OSError: It cannot be opened.
        ValueError: It holds something else; the message says what.

    Source: SOFA's TransformPosition (behaviour).
    """
    text = path.read_text(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    matrix = np.eye(4)
    kind = path.suffix.lower()
    if kind == ".tfm":
        line = next((line for line in lines if "Parameters" in line), "")
        numbers = _numbers([line.partition(":")[2]], 12, path)[0]
        matrix[:3, :3], matrix[:3, 3] = numbers[:9].reshape(3, 3), numbers[:8:-1]
    elif kind == ".trm":
        shift, *rows = _numbers(lines[:4], 3, path)
        matrix[: len(rows), :3], matrix[:3, 3] = rows, shift
    elif kind in (".txt", ".xfm"):
        rows = _numbers(lines[:4], 4, path)
        matrix[: len(rows)] = rows
    else:
        raise ValueError(f"{path}: expected a file .tfm, .trm, .txt or .xfm.")
    return matrix


def _numbers(lines: list[str], count: int, path: Path) -> list[np.ndarray]:
    """The numbers of each line."""
    found = []
    for line in lines or [""]:
        try:
            row = np.array([float(word) for word in line.split()])
        except ValueError:
            row = np.empty(0)
        if len(row) != count or not np.isfinite(row).all():
            raise ValueError(
                f"{path}: expected lines of {count} numbers, got '{line.strip()[:60]}'."
            )
        found.append(row)
    return found
