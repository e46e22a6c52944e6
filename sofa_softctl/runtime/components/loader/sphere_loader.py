"""SphereLoader: spheres from a file."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from sofa_softctl.base.files import wrong_file
from sofa_softctl.base.source_line import describe
from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.components.loader.mesh_loader import MeshLoader
from sofa_softctl.runtime.core.data.types import Reals, Vector, Vectors
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.mesh.mesh import Mesh


class SphereLoader(MeshLoader):
    """Reads centres and radii from a file of lines 'sphe NUMBER X Y Z RADIUS'.

    Scale, rotation and translation act on the centres, in this order, and not on the radii.
    """

    position = Vectors(
        3, [], "Centres.", unit="length", aliases=("sphere_centers", "vertices"), follows="start"
    )
    listRadius = Reals([], "Radius of each sphere.", unit="length", follows="start")
    scale = Vector(3, [1.0, 1.0, 1.0], "Scale along x, y and z.", auto_link=False, follows="start")

    @override
    def parse(self, path: str) -> Mesh:
        radii, centres = [], []
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()[1:]  # the first names the format
        except OSError as error:
            reason = f"{path}: there is no such file of spheres ({error.strerror})."
            raise SceneError(
                f"{describe(self.filename.where)}: {reason}{self._missing_file_hint()}"
            ) from error
        with open(path, "rb") as file:
            if wrong := wrong_file(file.read(1024)):
                raise self.fault(f"reads {path}: expected spheres, but this {wrong}.")
        for number, line in enumerate(lines, 2):
            words = line.split()
            if words[:1] != ["sphe"]:
                continue
            try:
                numbers = [float(word) for word in words[2:6]]
            except ValueError:
                numbers = []
            if len(numbers) < 3:
                raise self.fault(
                    f"reads line {number} of {path}: expected 'sphe NUMBER X Y Z RADIUS', got "
                    f"'{line.strip()[:60]}'."
                )
            centres.append(numbers[:3])
            radii.append(numbers[3] if len(numbers) > 3 else 1.0)
        if not centres:
            complain(
                self,
                self.fault(f"finds no line 'sphe NUMBER X Y Z RADIUS' in {path}: it is empty."),
            )
        self.listRadius.set(np.array(radii))
        return Mesh(np.array(centres).reshape(-1, 3))

    def _place_mesh(self, mesh: Mesh) -> Mesh:
        scale = self.scale3d.get() * self.scale.get()
        return mesh.transformed(scale, self.rotation.get(), self.translation.get())
