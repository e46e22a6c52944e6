"""Other values of Data, for changed_data.py to set."""

import numpy as np

CONTACTS = ["PenalityContactForceField", "FrictionContactConstraint", "FrictionContact?mu=0.05"]
TEXTS = {
    "contactResponse": CONTACTS,
    "response": CONTACTS,
    "responseParams": ["mu=0.05", "mu=0.9"],
    "rules": ["* floorLine nullptr", "3 * FrictionContactConstraint?mu=0.9"],
    "op": ["intersection", "difference"],
    "qpSolver": ["qpOASES", "proxQP"],
}
"""Words that mean something, by the name of the Data."""
NUMBERS = {
    "endTime": [0.04],
    "constrainAtTime": [0.0, 10.0],
    "maxIterations": [1, 2],
    "newtonIterations": [1, 2],
    "iterations": [1, 2],
    "tolerance": [1e-14, 100.0, 0.3],
    "maxJump": [10.0],
    "keperiod": [0.02],
    "transformation": [
        [2.0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        [1.0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 3, 0, 0, 0, 0, 1],
        [0.0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
    ],
    "cellWidth": [1.0, 0.3],
    "plasticYieldThreshold": [1e-4, 100.0],
    "plasticCreep": [0.3, 1.0],
    "localRange": [[0, 2], [2, 3]],
    "dmin": [-100.0, 15.0],
    "dmax": [100.0, 5.0],
    "box": [[0.0, 0.0, 0.0, 0.1, 0.1, 0.1], [-1.0, -1.0, -1.0, 11.0, 11.0, 11.0]],
}
"""Numbers that mean something, by the name of the Data."""
LIMIT = ("min", "max", "eq")
"""Beginnings of names of limits; 0 mostly means that there is none."""
DRAWN = ("Unused", "Draw", "Color", "Size of", "Scale of the dr", "How to draw", "Without effect")
"""Beginnings of descriptions of Data that do nothing, as they say."""


def is_idle(kind):
    """Return True if a declaration says that the Data does nothing where nothing is drawn."""
    return kind.help.startswith(DRAWN) or "drawn" in kind.help or "for drawing" in kind.help


def values_for(data):
    """Other values of a Data, by its type."""
    from sofa_softctl.runtime.core.data import types

    kind, value = data.type, data.get()
    if data.name in NUMBERS:
        return [number for number in NUMBERS[data.name] if not np.array_equal(number, value)]
    if isinstance(kind, types.Choice):
        return [choice for choice in kind.choices if choice != value]
    if isinstance(value, str):
        return [text for text in TEXTS.get(data.name, [_another(value)]) if text != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0), max(value // 2, 1), 1]
    if isinstance(value, float) and data.name.startswith(LIMIT):
        return [0.001, -0.001, 0.1, 0.7 * value or 1.0, 1.3 * value or -1.0]
    if isinstance(value, float):
        return [1.3 * value or 0.1, 0.7 * value or 1.0, value + 0.05, -0.5]
    if isinstance(kind, types.Texts):
        return [["another"]]
    return _arrays(data, kind, value) if isinstance(value, np.ndarray) else []


def _another(text):
    """The second file of a scene that has two; else another word."""
    return text.replace("in/a.", "in/b.") if "in/a." in text else f"{text}other"


def _arrays(data, kind, value):
    from sofa_softctl.runtime.core.data import types

    if not value.size:
        if isinstance(kind, types.Elements):
            corners = np.arange(value.shape[1])
            return [[corners.tolist()], [corners[::-1].tolist()], [(corners + 1).tolist()]]
        width = kind.columns(data.owner) if isinstance(kind, types.Vectors) else 1
        numbers = [[0.1 * (i + 1) for i in range(width)]]
        whole = isinstance(kind, types.Integers)
        return [[0], [1], [0, 1]] if whole else [numbers, 4 * numbers]
    limits = data.name.startswith(LIMIT) and data.name not in ("min", "max")  # corners of grids
    if value.dtype.kind == "f" and limits:
        return [np.full(value.shape, limit) for limit in (0.001, -0.001, 0.1)]
    if value.dtype.kind == "b":
        return [np.arange(value.size) != k for k in (0, value.size - 1)]
    if value.dtype.kind in "iu":
        ends = [value[:-1], value[1:]] if len(value) > 1 else []
        fixed = isinstance(kind, types.Vector)
        turned = [value[::-1]] if len(value) > 1 else []
        return [value + 1] if fixed else [*ends, value + 1, *turned, np.maximum(value - 1, 0)]
    shifted = value.copy()
    shifted.flat[0] += 0.2
    return [np.where(value == 0.0, 0.1, 1.3 * value), 0.7 * value, shifted]
