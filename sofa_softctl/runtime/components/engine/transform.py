"""TransformEngine and TransformPosition: points moved, turned, scaled or projected."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.components.engine.base import Engine
from sofa_softctl.runtime.core.data.types import (
    Bool,
    Choice,
    Coords,
    Int,
    Integers,
    Real,
    Text,
    Vector,
    Vectors,
)
from sofa_softctl.runtime.helper.repository import path_near
from sofa_softctl.runtime.kernels.mapping.rigid import conjugate, product, rotate_vectors
from sofa_softctl.runtime.mesh.rotation import quaternion_zyx, rotation_zyx


class TransformEngine(Engine):
    """Scales, turns by the angles, turns by the quaternion, then shifts; or undoes all that."""

    inputs: ClassVar[tuple[str, ...]] = (
        "input_position", "translation", "rotation", "quaternion", "scale", "inverse",
    )  # fmt: skip

    input_position = Coords([], "Points, or frames.", unit="length")
    output_position = Coords([], "Transformed points.", unit="length", computed=True)
    translation = Vector(3, [0.0, 0.0, 0.0], "Shift.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z.", unit="degree")
    quaternion = Vector(4, [0.0, 0.0, 0.0, 1.0], "Turn, as a unit quaternion x y z w.")
    scale = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.")
    inverse = Bool(False, "Undo the transformation instead.")

    @override
    def compute(self) -> None:
        points = self.input_position.get().copy()
        steps = [self._scale, self._rotate_by_angles, self._rotate_by_quaternion, self._shift]
        inverse = self.inverse.get()
        for step in reversed(steps) if inverse else steps:
            step(points, inverse)
        self.output_position.set(points)

    def _scale(self, points: np.ndarray, inverse: bool) -> None:
        scale = self.scale.get()
        points[:, :3] *= 1.0 / scale if inverse else scale

    def _rotate_by_angles(self, points: np.ndarray, inverse: bool) -> None:
        angles = self.rotation.get()
        if angles.any():
            self._rotate(points, quaternion_zyx(angles), inverse)

    def _rotate_by_quaternion(self, points: np.ndarray, inverse: bool) -> None:
        self._rotate(points, self.quaternion.get(), inverse)

    def _rotate(self, points: np.ndarray, q: np.ndarray, inverse: bool) -> None:
        if (q == [0.0, 0.0, 0.0, 1.0]).all():
            return
        q = conjugate(q) / np.linalg.norm(q) if inverse else q  # SOFA's inverse
        turns = np.tile(q, (len(points), 1))
        points[:, :3] = rotate_vectors(turns, points[:, :3])
        if points.shape[1] == 7:
            points[:, 3:] = product(turns, points[:, 3:])

    def _shift(self, points: np.ndarray, inverse: bool) -> None:
        shift = self.translation.get()
        points[:, :3] += -shift if inverse else shift


_METHODS = (
    "projectOnPlane", "translation", "rotation", "random", "scale", "scaleTranslation",
    "scaleRotationTranslation", "affine", "fromFile",
)  # fmt: skip


class TransformPosition(Engine):
    """One of several transformations of points; 'fromFile' is the affine one of a file.

    SOFA's method 'random' is not supported: its random numbers depend on the platform.
    """

    inputs: ClassVar[tuple[str, ...]] = (
        "input_position", "origin", "normal", "translation", "rotation", "scale", "matrix",
        "method", "fixedIndices",
    )  # fmt: skip

    input_position = Vectors(3, [], "Points.", unit="length", aliases=("inputPosition",))
    output_position = Vectors(
        3, [], "Transformed points.", unit="length", aliases=("outputPosition",), computed=True
    )
    origin = Vector(3, [0.0, 0.0, 0.0], "Point of the plane, centre of the scale.", unit="length")
    normal = Vector(3, [0.0, 0.0, 0.0], "Normal of the plane.")
    translation = Vector(3, [0.0, 0.0, 0.0], "Shift.", unit="length")
    rotation = Vector(3, [0.0, 0.0, 0.0], "Angles about x, y and z.", unit="degree")
    scale = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.")
    matrix = Vector(16, np.eye(4).ravel(), "Affine or projective transformation, row by row.")
    method = Choice("projectOnPlane", "Transformation.", choices=_METHODS)
    seedValue = Int(0, "Unused: there is no method 'random'.")
    maxRandomDisplacement = Real(1.0, "Unused: there is no method 'random'.", unit="length")
    fixedIndices = Integers([], "Points that stay where they are.")
    filename = Text(
        "", "File with the matrix of 'fromFile': .tfm, .trm, .txt or .xfm.", follows="start"
    )
    drawInput = Bool(False, "Draw the points.")
    drawOutput = Bool(False, "Draw the transformed points.")
    pointSize = Real(1.0, "Size of what is drawn.")

    def init(self) -> None:
        """Check the method.

        Raises:
            SceneError: The method is 'random', a plane has no normal, or the file of the matrix
                cannot be read.
        """
        if self.method.get() == "random":
            raise self.fault("has no method 'random'; compute the positions in the scene.")
        if self.method.get() == "fromFile":
            self._read_matrix()
        if self.method.get() == "projectOnPlane" and not self.normal.get().any():
            raise self.fault("needs the 'normal' of the plane to project on.")
        super().init()

    def _read_matrix(self) -> None:
        name, line = self.filename.get(), self.filename.where
        if not name:
            raise self.fault("needs the 'filename' of the matrix for method 'fromFile'.")
        try:
            self.matrix.set(read_matrix(path_near(name, line[0] if line else None)).ravel())
        except OSError as error:
            raise self.fault(f"has filename='{name}': {error.strerror}.") from error
        except ValueError as error:
            raise self.fault(f"cannot read {error}") from error

    @override
    def compute(self) -> None:
        points = self.input_position.get()
        transformed = self._transform(points)
        fixed = self.fixedIndices.get()
        if fixed.size and not 0 <= fixed.min() <= fixed.max() < len(points):
            raise self.fault(
                f"has 'fixedIndices' from {fixed.min()} to {fixed.max()}, but there are "
                f"{len(points)} points."
            )
        transformed[fixed] = points[fixed]
        self.output_position.set(transformed)

    def _transform(self, x: np.ndarray) -> np.ndarray:
        method, origin, shift = self.method.get(), self.origin.get(), self.translation.get()
        scale, turn = self.scale.get(), rotation_zyx(self.rotation.get())
        if method == "projectOnPlane":
            n = self.normal.get() / np.linalg.norm(self.normal.get())
            return x + np.outer((origin - x) @ n, n)
        if method in ("affine", "fromFile"):
            four = np.column_stack([x, np.ones(len(x))]) @ self.matrix.get().reshape(4, 4).T
            return four[:, :3] / four[:, 3:]
        transformed: np.ndarray = {
            "translation": lambda: x + shift,
            "rotation": lambda: x @ turn.T,
            "scale": lambda: origin + (x - origin) * scale,
            "scaleTranslation": lambda: x * scale + shift,
            "scaleRotationTranslation": lambda: (x * scale) @ turn.T + shift,
        }[method]()
        return transformed


def read_matrix(path: Path) -> np.ndarray:
    """Return the transformation of a file, shape (4, 4).

    Args:
        path: A .tfm has 12 numbers in its line 'Parameters', nine row by row and the shift, which
            SOFA reads from its end; a .trm the shift and three rows in a line each; a .txt or .xfm
            four lines of four.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The file holds something else, named in the message.

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
    """Return the numbers of each line."""
    rows = []
    for line in lines or [""]:
        try:
            row = np.array([float(word) for word in line.split()])
        except ValueError:
            row = np.empty(0)
        if len(row) != count or not np.isfinite(row).all():
            raise ValueError(
                f"{path}: expected lines of {count} numbers, got '{line.strip()[:60]}'."
            )
        rows.append(row)
    return rows
