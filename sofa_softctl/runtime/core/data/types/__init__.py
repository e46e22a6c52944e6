"""Types of Data, declared once per class as its attributes.

    class UniformMass(Mass):
        totalMass = Real(1.0, "Mass of the whole body.", unit="mass")

On the class the attribute is this declaration, on an instance it is the Data.
Texts are parsed as in SOFA. `convert` raises an error for values that SOFA reads in part, or
replaces by zero; after a complaint, `salvage` returns SOFA's value.
"""

from sofa_softctl.runtime.core.data.declaration import DataType
from sofa_softctl.runtime.core.data.types.lists import Integers, Reals, Texts
from sofa_softctl.runtime.core.data.types.rows import (
    Bools,
    Color,
    Coord,
    Counts,
    Deriv,
    Matrix,
    Vector,
)
from sofa_softctl.runtime.core.data.types.scalars import Bool, Choice, Int, Real, Text, UInt
from sofa_softctl.runtime.core.data.types.tables import (
    Coords,
    Derivs,
    Elements,
    SparseMatrix,
    Vectors,
)

__all__ = [
    "Bool",
    "Bools",
    "Choice",
    "Color",
    "Coord",
    "Coords",
    "Counts",
    "DataType",
    "Deriv",
    "Derivs",
    "Elements",
    "Int",
    "Integers",
    "Matrix",
    "Real",
    "Reals",
    "SparseMatrix",
    "Text",
    "Texts",
    "UInt",
    "Vector",
    "Vectors",
]
