"""UniformMass: the same mass at every node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sofa_softctl.runtime.components.mass.lumped import LumpedMass, given_by, overruled_fault
from sofa_softctl.runtime.components.mass.rigid_mass import NodeMass, RigidMass
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.types import Bool, Integers, Real, Text, Vector
from sofa_softctl.runtime.core.link import LinkType
from sofa_softctl.runtime.helper.message import complain
from sofa_softctl.runtime.helper.repository import path_near


class UniformMass(LumpedMass):
    """vertexMass at each node, or totalMass shared by all; totalMass counts if both are given.

    A file with the mass of a body replaces vertexMass; totalMass is then ignored, unless the scene
    gives vertexMass, too. For bodies vertexMass is `mass volume [inertia matrix / mass]`,
    with a unit matrix if only a mass is given. As in SOFA the moment of inertia does not rotate
    with the body and there is no gyroscopic moment, which is correct for balls, cubes and slow
    rotations.

    In a run, only a change of the Data that the scene gave has an effect, from that step; the other
    is computed from it. (In SOFA the gravity of that step still uses the old mass.)
    """

    acts_on = ("Vec3", "Rigid3", "Vec1")

    totalMass = Real(1.0, "Mass of the whole body.", unit="mass")
    vertexMass = NodeMass(1.0, "Mass of each node.", unit="mass", aliases=("mass",))
    indices = Integers([], "Nodes that have mass; all when empty.", follows="reinit", of="node")
    localRange = Vector(
        2,
        [-1, -1],
        "First and last node with mass, instead of `indices`; without effect up to the last one.",
        follows="reinit",
    )
    handleTopologicalChanges = Bool(False, "Unused: the mesh does not change.")
    preserveTotalMass = Bool(False, "Unused: the mesh does not change.")
    showAxisSizeFactor = Real(1.0, "Size of the drawn axes.")
    showInitialCenterOfGravity = Bool(False, "Draw the initial centre of mass.")
    compute_mapping_inertia = Bool(False, "Unused.")
    filename = Text("unused", "File with mass, volume and inertia of a body (.rigid).")
    showGravityCenter = Bool(False, "Draw the centre of mass.")
    showX0 = Bool(False, "Draw the rest position.")
    rayleighStiffness = Real(0.0, "Unused: a mass has no stiffness.", unit="time")
    topology = LinkType("Unused: the mesh does not change.")

    def init(self) -> None:
        """Distribute the mass.

        Raises:
            SceneError: no mass was given, it is negative, or a node does not exist.
        """
        count = self.state.known_count
        if not count:
            raise self.fault(
                f"acts on {self.state.describe()}, which has no nodes: give it 'position', or add "
                "a topology before it."
            )
        nodes = self.indices.get()
        if self.filename.get() not in ("", "unused"):
            self._read_file(self.filename.get())
        first, last = self.localRange.get()
        if first >= 0 and 0 < last < count - 1:
            nodes = np.arange(int(first), int(last) + 1)
        if count != self.state.count and not nodes.size:
            nodes = np.arange(count)
            problem = "stands before the mapping that gives its state the other nodes: only "
            complain(self, self.fault(f"{problem}{count} of them has mass, as in SOFA."))
        self.check_indices(nodes)
        total, vertex = self.totalMass, self.vertexMass
        if not (total.isSet() or vertex.isSet()):
            raise self.fault("has no mass: give totalMass or vertexMass.")
        with_inertia = isinstance(vertex.get(), str)  # which counts in addition to totalMass
        names = ("totalMass",) if with_inertia and total.isSet() else ("totalMass", "vertexMass")
        self._by_total = given_by(self, *names) == "totalMass"
        self._distribute(nodes)

    def _distribute(self, nodes: np.ndarray) -> None:
        """Set the mass of each of the nodes, or of all."""
        count, total, vertex = self.state.count, self.totalMass, self.vertexMass
        node_count = nodes.size or count
        body = RigidMass.of(str(vertex.get()))
        value = total.get() / node_count if self._by_total else body.mass
        if not value > 0.0:
            problem = self.fault(f"needs a positive mass, got {value * node_count:g}.")
            if value != 0.0:
                raise problem
            complain(self, problem, " As in SOFA its nodes have no inertia.")
        self._nodes = nodes
        total.set(value * node_count)
        selection = nodes if nodes.size else slice(None)
        self.masses = np.zeros((count, 1))
        self.masses[selection] = value
        if self.state.kind.name == "Rigid3":
            self._check(body)
            body = replace(body, mass=value)
            self.moments = np.zeros((count, 3, 3))
            self.moments[selection] = body.moment()
            vertex.set(str(body))
        elif isinstance(vertex.get(), str):
            raise self.fault("has a 'vertexMass' with inertia, but acts on no Rigid3 state.")
        else:
            vertex.set(value)

    def _read_file(self, name: str) -> None:
        if self.state.kind.name != "Rigid3":
            problem = f"has filename='{name}', but acts on no Rigid3 state: SOFA ignores it too."
            complain(self, self.fault(problem))
            return
        vertex, total = self.vertexMass, self.totalMass
        line = self.filename.where

        path = path_near(name, line[0] if line else None)
        try:
            body, has_mass = read_rigid_mass(str(path), RigidMass.of(str(vertex.get())))
        except OSError as error:
            raise self.fault(
                f"has filename='{name}', but there is no such file ({error.strerror}). Files that "
                "come with SOFA, such as BehaviorModels/torus.rigid, are found where SOFA_ROOT or "
                "SOFTCTL_DATA names a folder that holds them."
            ) from error
        except ValueError as error:
            raise self.fault(f"cannot read {error}") from error
        if has_mass and not vertex.isSet():
            total._set = False
        vertex.set(str(body))
        vertex._set = True

    def _check(self, body: RigidMass) -> None:
        matrix = np.reshape(body.inertia, (3, 3))
        if (matrix != matrix.T).any() or not (np.linalg.eigvalsh(matrix) > 0.0).all():
            raise self.fault(
                "needs a symmetric, positive definite inertia matrix in 'vertexMass', got "
                f"{matrix.tolist()}."
            )

    def reinit(self) -> None:
        """Distribute the mass again."""
        self.init()

    def data_changed(self, data: Data) -> None:
        """Apply a new mass immediately, if it is set by the Data that the scene gave first."""
        if self._initialised and data.type.name in ("totalMass", "vertexMass"):
            value = data.get()
            self._distribute(self._nodes)
            if data.get() != value:
                complain(self, overruled_fault(self, data, value))


_NUMBERS = {
    "vertexMass": 1,
    "volm": 1,
    "inrt": 9,
    "cntr": 3,
    "center": 3,
    "frme": 4,
    "grav": 3,
    "visc": 1,
    "stck": 1,
    "step": 1,
    "prec": 1,
}
"""Number of values of each line's first word; those below "inrt" are read past, as in SOFA."""


def read_rigid_mass(path: str, default: RigidMass) -> tuple[RigidMass, bool]:
    """Read mass, volume and inertia from a file; also return whether it contains a mass.

    Args:
        path: The file; its first line, and lines that begin with another word, are skipped.
        default: Values that are not in the file.

    Raises:
        OSError: it cannot be opened.
        ValueError: numbers are missing, by its message.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()[1:]
    values: dict[str, tuple[float, ...]] = {}
    for number, line in enumerate(lines, 2):
        words = line.split()
        if not words or words[0] not in _NUMBERS:
            continue
        word, count = words[0], _NUMBERS[words[0]]
        try:
            numbers = tuple(float(token) for token in words[1 : 1 + count])
        except ValueError:
            numbers = ()
        if len(numbers) < count:
            raise ValueError(
                f"line {number} of {path}: expected '{word}' and {count} numbers, got "
                f"'{line.strip()[:60]}'."
            )
        values[word] = numbers
    body = replace(
        default,
        mass=values.get("vertexMass", (default.mass,))[0],
        volume=values.get("volm", (default.volume,))[0],
        inertia=values.get("inrt", default.inertia),
    )
    return body, "vertexMass" in values
