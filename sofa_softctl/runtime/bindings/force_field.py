"""Force fields written in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.scripted import Scripted


class ForceFieldVec3d(Scripted, ForceField):
    """SOFA's Sofa.Core.ForceFieldVec3d.

    A subclass overwrites `addForce`, and, for the matrix of implicit integration, `addDForce` (used
    by CGLinearSolver) or `addKToMatrix` (used by SparseLDLSolver), or both. Its own
    rayleighStiffness acts with either, where SOFA forgets it with CGLinearSolver. Shapes are those
    of points, d = 3; of bodies (ForceFieldRigid3d) positions are (n, 7), and d = 6.
    """

    # -- what a subclass overwrites ----------------------------------------------------------

    def addForce(self, parameters: dict[str, Any], force: Data, x: Data, v: Data) -> None:
        """Add f(x, v) to `force`: `with force.writeableArray() as f: f += ...`, shape (n, d)."""
        raise self._lacks("addForce(self, parameters, force, position, velocity)")

    def addDForce(self, parameters: dict[str, Any], df: Data, dx: Data) -> None:
        """Add kFactor df/dx dx to `df`; parameters["kFactor"] is the factor."""
        raise self._lacks("addDForce(self, parameters, df, dx), which CGLinearSolver calls")

    def addKToMatrix(self, parameters: dict[str, Any], n_nodes: int, n_dofs: int) -> Any:
        """df/dx as entries (row, column, value), shape (k, 3), or whole, (d n, d n, 1).

        parameters["kFactor"] is always 1, and n_dofs the width of a position, as in SOFA.
        """
        raise self._lacks("addKToMatrix(self, parameters, n_nodes, n_dofs), which a matrix needs")

    # -- what the runtime asks ---------------------------------------------------------------

    def add_force(self, force: np.ndarray) -> None:
        """See ForceField; `force` is the state's own."""
        state = self.state
        self.addForce(self._parameters(0.0), state.force, state.position, state.velocity)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        self.addDForce(self._parameters(-factor), self._wrapped(out), self._wrapped(v))

    def pairs(self) -> Pairs:
        """See Contribution; those of the first matrix, which must stay the same."""
        rows, cols, _ = self._blocks()
        self._pattern = (rows, cols)
        return self._pattern

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        rows, cols, blocks = self._blocks()
        count = self._rows
        known = self._pattern[0] * count + self._pattern[1]
        place = np.searchsorted(known, rows * count + cols)
        found = place < len(known)
        found[found] = known[place[found]] == (rows * count + cols)[found]
        if not found.all():
            width = self.state.deriv_size // 3  # rows of blocks of a node
            row, col = rows[~found][0] // width, cols[~found][0] // width
            raise self.fault(
                f"couples nodes {row} and {col} now, but not in the first step: addKToMatrix must "
                "always give the same entries, zeros where there is no force."
            )
        values[slots[place]] -= factor * blocks

    def _blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The lower triangle of df/dx in blocks: rows, columns (k,), blocks (k, 3, 3)."""
        n = self._rows
        state = self.state
        given = self.addKToMatrix(self._parameters(1.0), state.count, state.coord_size)
        if given is None:
            given = np.empty((0, 3))
        entries = np.asarray(given, dtype=float)
        if entries.ndim == 3 and entries.shape[2] == 1:
            row, col = np.nonzero(np.ones(entries.shape[:2]))
            value = entries[:, :, 0].ravel()
        elif entries.ndim == 2 and entries.shape[1] == 3:
            row, col = entries[:, :2].T.astype(np.int64)
            value = entries[:, 2]
        else:
            raise self.fault(
                f"got an array of shape {entries.shape} from addKToMatrix; it takes entries (row, "
                f"column, value), shape (k, 3), or the matrix, shape ({3 * n}, {3 * n}, 1)."
            )
        lower = row // 3 >= col // 3  # the rest follows from symmetry
        row, col, value = row[lower], col[lower], value[lower]
        keys, block = np.unique(row // 3 * n + col // 3, return_inverse=True)
        blocks = np.zeros((len(keys), 3, 3))
        np.add.at(blocks, (block, row % 3, col % 3), value)
        return keys // n, keys % n, blocks

    @property
    def _rows(self) -> int:
        """Rows of blocks of the matrix: one a point, two a body."""
        return self.state.count * self.state.deriv_size // 3

    def _parameters(self, k_factor: float) -> dict[str, Any]:
        assert self._context is not None
        time = self._context.time.get()
        factors = {"mFactor": 0.0, "bFactor": 0.0, "kFactor": k_factor}
        return {"time": time, **factors, "isImplicit": True, "energy": False}

    def _wrapped(self, vector: np.ndarray) -> Data:
        declaration = self.state.data_types["force"]
        data = declaration.data_class(declaration, self.state)
        data.set(vector)
        return data

    def _lacks(self, method: str) -> Exception:
        return self.fault(f"is a force field without {method}.")


class ForceFieldRigid3d(ForceFieldVec3d):
    """SOFA's Sofa.Core.ForceFieldRigid3d: on bodies; moments are the last three of a force."""

    acts_on = ("Rigid3",)
