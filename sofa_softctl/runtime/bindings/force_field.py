"""Force fields written in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from sofa_softctl.runtime.behavior.mechanics import ForceField, Pairs
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.scripted import ScriptComponent


class ForceFieldVec3d(ScriptComponent, ForceField):
    """SOFA's Sofa.Core.ForceFieldVec3d.

    A subclass overrides `addForce`, and, for the matrix of implicit integration, `addDForce` (used
    by CGLinearSolver) or `addKToMatrix` (used by SparseLDLSolver), or both. Its rayleighStiffness
    acts with either; SOFA ignores it with CGLinearSolver. Points have d = 3; bodies
    (ForceFieldRigid3d) have positions of shape (n, 7) and d = 6.
    """

    # -- methods that a subclass overrides --------------------------------------------------

    def addForce(self, parameters: dict[str, Any], force: Data, x: Data, v: Data) -> None:
        """Add f(x, v) to `force`: `with force.writeableArray() as f: f += ...`, shape (n, d)."""
        raise self._lacks("addForce(self, parameters, force, position, velocity)")

    def addDForce(self, parameters: dict[str, Any], df: Data, dx: Data) -> None:
        """Add kFactor df/dx dx to `df`; parameters["kFactor"] is the factor."""
        raise self._lacks("addDForce(self, parameters, df, dx), which CGLinearSolver calls")

    def addKToMatrix(self, parameters: dict[str, Any], n_nodes: int, n_dofs: int) -> Any:
        """Return df/dx as entries (row, column, value), shape (k, 3), or matrix, (d n, d n, 1).

        parameters["kFactor"] is always 1, and n_dofs the width of a position, as in SOFA.
        """
        raise self._lacks("addKToMatrix(self, parameters, n_nodes, n_dofs), which a matrix needs")

    # -- methods that the runtime calls -----------------------------------------------------

    def add_force(self, force: np.ndarray) -> None:
        """Add the forces to the state's forces, which `force` is."""
        state = self.state
        self.addForce(self._parameters(0.0), state.force, state.position, state.velocity)

    @override
    def add_product(self, out: np.ndarray, v: np.ndarray, factor: float) -> None:
        self.addDForce(self._parameters(-factor), self._as_data(out), self._as_data(v))

    def pairs(self) -> Pairs:
        """Return the pairs of the first matrix, which later matrices must not exceed."""
        rows, cols, _ = self._blocks()
        self._pattern = (rows, cols)
        return self._pattern

    @override
    def add_matrix(self, values: np.ndarray, slots: np.ndarray, factor: float) -> None:
        rows, cols, blocks = self._blocks()
        count = self._rows
        keys = self._pattern[0] * count + self._pattern[1]
        index = np.searchsorted(keys, rows * count + cols)
        is_known = index < len(keys)
        is_known[is_known] = keys[index[is_known]] == (rows * count + cols)[is_known]
        if not is_known.all():
            width = self.state.deriv_size // 3  # rows of blocks of a node
            row, col = rows[~is_known][0] // width, cols[~is_known][0] // width
            raise self.fault(
                f"couples nodes {row} and {col} now, but not in the first step: addKToMatrix must "
                "always give the same entries, zeros where there is no force."
            )
        values[slots[index]] -= factor * blocks

    def _blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the lower triangle of df/dx in blocks: rows, columns (k,), blocks (k, 3, 3)."""
        n = self._rows
        state = self.state
        result = self.addKToMatrix(self._parameters(1.0), state.count, state.coord_size)
        if result is None:
            result = np.empty((0, 3))
        entries = np.asarray(result, dtype=float)
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
        is_lower = row // 3 >= col // 3  # the upper triangle follows from symmetry
        row, col, value = row[is_lower], col[is_lower], value[is_lower]
        keys, block = np.unique(row // 3 * n + col // 3, return_inverse=True)
        blocks = np.zeros((len(keys), 3, 3))
        np.add.at(blocks, (block, row % 3, col % 3), value)
        return keys // n, keys % n, blocks

    @property
    def _rows(self) -> int:
        """Rows of blocks of the matrix: one for a point, two for a body."""
        return self.state.count * self.state.deriv_size // 3

    def _parameters(self, k_factor: float) -> dict[str, Any]:
        assert self._context is not None
        time = self._context.time.get()
        factors = {"mFactor": 0.0, "bFactor": 0.0, "kFactor": k_factor}
        return {"time": time, **factors, "isImplicit": True, "energy": False}

    def _as_data(self, vector: np.ndarray) -> Data:
        declaration = self.state.data_types["force"]
        data = declaration.data_class(declaration, self.state)
        data.set(vector)
        return data

    def _lacks(self, method: str) -> Exception:
        return self.fault(f"is a force field without {method}.")


class ForceFieldRigid3d(ForceFieldVec3d):
    """SOFA's Sofa.Core.ForceFieldRigid3d, on bodies; a force ends with three moments."""

    acts_on = ("Rigid3",)
