"""Types of Data, declared once per class as its attributes.

    class UniformMass(Mass):
        totalMass = Real(1.0, "Mass of the whole body.", unit="mass")

On the class the attribute is this declaration, on an instance it is the Data.
Texts are parsed as SOFA parses them. What SOFA reads in part, or replaces by zero, does not
`convert`: it is complained of, and then `salvage` makes of it what SOFA does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, overload

import numpy as np

from sofa_softctl.runtime.core.data import reading
from sofa_softctl.runtime.core.data.data import Data
from sofa_softctl.runtime.core.data.views import DataContainer, DataString, DataVectorString


class DataType:
    """Declaration of one Data: its name, default, meaning and the check of its values."""

    data_class: ClassVar[type[Data]] = Data
    """What SofaPython3 makes of a Data of this type."""

    def __init__(
        self,
        default: Any,
        help: str,
        *,
        unit: str = "",
        aliases: Sequence[str] = (),
        choices: Sequence[str] = (),
        read_only: bool = False,
        computed: bool = False,
        required: bool = False,
        auto_link: bool = True,
        linkable: bool = True,
        optional_link: bool = False,
    ) -> None:
        self.default = default
        self.help = help
        self.unit = unit
        self.aliases = tuple(aliases)
        self.choices = tuple(choices)
        self.read_only = read_only or computed
        self.computed = computed  # brought up to date by owner.update_outputs()
        self.required = required
        self.auto_link = auto_link  # whether src="@..." of others takes it over
        self.linkable = linkable  # whether a text that starts with @ is a link
        self.optional_link = optional_link  # whether one that leads nowhere is a warning alone
        self.may_be_nan = False
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> DataType: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> Data: ...
    def __get__(self, instance: Any, owner: type) -> DataType | Data:
        if instance is None:
            return self
        return instance._data[self.name]

    def __set__(self, instance: Any, value: Any) -> None:
        instance._data[self.name].value = value

    def initial(self, owner: Any) -> Any:
        """The default as a fresh value."""
        return self.convert(self.default, owner)

    def convert(self, value: Any, owner: Any) -> Any:
        """The value in its internal form; ValueError or TypeError when it does not fit."""
        raise NotImplementedError

    def adopt(self, value: Any, owner: Any) -> Any:
        """What it makes of the value of a Data that it follows; errors as of `convert`."""
        return self.convert(value, owner)

    def salvage(self, value: Any, owner: Any, present: Any) -> Any:
        """What SOFA makes of a value that does not fit: what can be read of it, or `present`."""
        del value, owner
        return present

    def rows(self, value: Any) -> list[Any]:
        """A value as a list of rows of numbers, or of words."""
        array = np.asarray(value)
        numbers = array.ndim == 1 and array.dtype.kind in "biuf"
        rows: list[Any] = (array[:, None] if numbers else array).tolist()
        return rows

    def expectation(self, owner: Any) -> str:
        """Expected value, for errors: 'takes one number'."""
        raise NotImplementedError

    def sofa_name(self, owner: Any) -> str:
        """The type as SOFA writes it."""
        return self.expectation(owner)

    def format(self, value: Any) -> str:
        """The value as SOFA writes it."""
        if isinstance(value, np.ndarray):
            return " ".join(_spelt(entry) for entry in value.ravel().tolist())
        return _spelt(value)


class Bool(DataType):
    """True or False; SOFA's 1, 0, 'true', 'false' as well."""

    _texts = {"1": True, "true": True, "t": True, "0": False, "false": False, "f": False}

    def convert(self, value: Any, owner: Any) -> bool:
        """See DataType."""
        if isinstance(value, str):
            text = value.strip().lower()
            if text not in self._texts:
                raise ValueError("neither true nor false")
            return self._texts[text]
        scalar = reading.scalar(value)
        if scalar not in (0, 1):
            raise ValueError("neither true nor false")
        return bool(scalar)

    def salvage(self, value: Any, owner: Any, present: Any) -> bool:
        """By the first letter, or whether a number is not zero."""
        text = reading.text(value)
        if text[:1] in "tTfF" and text:
            return text[0] in "tT"
        return present if not text[:1].isdigit() else bool(reading.whole_number(text))

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes True or False"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "bool"

    def format(self, value: Any) -> str:
        """See DataType."""
        return str(int(value))


class Int(DataType):
    """One whole number."""

    def convert(self, value: Any, owner: Any) -> int:
        """See DataType."""
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                value = float(value)
        number = reading.scalar(value)
        if number % 1 != 0:  # NaN and infinities as well
            raise ValueError("not a whole number")
        return int(number)

    def salvage(self, value: Any, owner: Any, present: Any) -> int:
        """The number with which it begins, without its fraction; 0 where there is none."""
        return reading.whole_number(reading.text(value))

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes one whole number"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "i"


class Real(DataType):
    """One number."""

    def convert(self, value: Any, owner: Any) -> float:
        """See DataType."""
        return float(value) if isinstance(value, str) else float(reading.scalar(value))

    def salvage(self, value: Any, owner: Any, present: Any) -> float:
        """The number with which it begins; 0 where there is none."""
        return reading.number(reading.text(value))

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes one number"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "d"


class Text(DataType):
    """A text."""

    data_class = DataString

    def convert(self, value: Any, owner: Any) -> str:
        """See DataType."""
        if hasattr(value, "getLinkPath"):
            return str(value.getLinkPath())
        return reading.text(value)

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes a text"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "string"


class Choice(Text):
    """One of several words; SOFA's OptionsGroup, which takes the number of a word as well."""

    def convert(self, value: Any, owner: Any) -> str:
        """See DataType."""
        if isinstance(value, str) and not value.isdigit():
            if value not in self.choices:
                raise ValueError("no such choice")
            return value
        number = int(value) if isinstance(value, str) else reading.scalar(value)
        if number not in range(len(self.choices)):
            raise ValueError("no such choice")
        return self.choices[int(number)]

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes one of {', '.join(repr(choice) for choice in self.choices)}"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "OptionsGroup"


class Texts(DataType):
    """A list of words."""

    data_class = DataVectorString

    def convert(self, value: Any, owner: Any) -> list[str]:
        """See DataType."""
        if isinstance(value, str):
            return value.split()
        return [reading.text(entry) for entry in value]

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes a list of texts"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "vector<string>"

    def format(self, value: Any) -> str:
        """See DataType."""
        return " ".join(value)


class Reals(DataType):
    """A list of numbers, shape (n,); a single number is a list of one."""

    data_class = DataContainer

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return reading.numbers(value).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The numbers before the first that cannot be read."""
        return reading.first_numbers(value)

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes a list of numbers"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "vector<d>"


class Integers(DataType):
    """A list of whole numbers, shape (n,); in texts '2-5' is a range, '2-8-3' one in steps."""

    data_class = DataContainer

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return reading.whole_numbers(value, reading.span).ravel()

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """Each word the number with which it begins; 0 where there is none."""
        return np.array(
            [entry for word in reading.words(value) for entry in reading.span_or_number(word)],
            dtype=np.int64,
        )

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "takes a list of whole numbers"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "vector<i>"


class Vector(DataType):
    """A fixed number of numbers, such as a direction; shape (width,)."""

    data_class = DataContainer

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    def size(self, owner: Any) -> int:
        """Number of numbers."""
        return self.width

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        array = reading.numbers(value).ravel()
        if array.size != self.size(owner):
            raise ValueError(f"{array.size} numbers")
        return array

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The first numbers, then 0 where one cannot be read; what is missing stays as it was."""
        array = np.array(present)
        first = reading.first_numbers(value)[: array.size]
        array[: len(first)] = first
        if len(first) < array.size and not reading.is_numbers(value):
            array[len(first)] = 0.0
        return array

    def rows(self, value: Any) -> list[Any]:
        """See DataType: one row."""
        return [np.asarray(value).tolist()]

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes {self.size(owner)} numbers"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return f"Vec{self.size(owner)}d"


class Matrix(Vector):
    """The numbers of a matrix, by rows; texts may have SOFA's brackets: [1 0 0,0 1 0,0 0 1]."""

    _BRACKETS: ClassVar[dict[int, int]] = str.maketrans("[],", "   ")

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return super().convert(
            value.translate(self._BRACKETS) if isinstance(value, str) else value, owner
        )


class Coord(Vector):
    """One position; the owner's template says how many numbers it has. Zero by default."""

    def __init__(self, help: str, **options: Any) -> None:
        super().__init__(3, [], help, **options)

    def size(self, owner: Any) -> int:
        """See Vector."""
        return int(owner.coord_size)

    def initial(self, owner: Any) -> np.ndarray:
        """See DataType."""
        return np.zeros(self.size(owner))


class Deriv(Coord):
    """One velocity or force; the owner's template says how many numbers it has."""

    def size(self, owner: Any) -> int:
        """See Vector."""
        return int(owner.deriv_size)


class Color(Vector):
    """Red, green, blue and opacity from 0 to 1, shape (4,); also three of them, or a name."""

    def __init__(self, default: Any, help: str, **options: Any) -> None:
        super().__init__(4, default, help, **options)

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return reading.color(value)

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes a color: 3 or 4 numbers, '#rrggbb', {', '.join(map(repr, reading.COLORS))}"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return "RGBAColor"


class Bools(DataType):
    """A fixed number of True or False, or one of several numbers of them; shape (width,)."""

    data_class = DataContainer

    def __init__(self, width: int | Sequence[int], default: Any, help: str, **options: Any) -> None:
        self.widths = (width,) if isinstance(width, int) else tuple(width)
        super().__init__(default, help, **options)

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        array = reading.numbers(value).ravel()
        if array.size not in self.widths or not np.isin(array, (0, 1)).all():
            raise ValueError(f"{array.size} entries")
        return array.astype(bool)

    def rows(self, value: Any) -> list[Any]:
        """See DataType: one row."""
        return [np.asarray(value).tolist()]

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes {' or '.join(map(str, self.widths))} times 1 or 0"

    def format(self, value: Any) -> str:
        """See DataType."""
        return " ".join(str(int(entry)) for entry in value)


_POSITIONS = {1, 3, 7}
"""Numbers in a position of Vec1, Vec3 and Rigid3."""


class Vectors(DataType):
    """A list of vectors of one width, such as positions; shape (n, width)."""

    data_class = DataContainer

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    def columns(self, owner: Any) -> int:
        """Numbers in one vector."""
        return self.width

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return reading.rows(reading.numbers(value), self.columns(owner))

    def adopt(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType; of frames points take the places, frames made of points are not turned."""
        width = self.columns(owner)
        given = value.shape[1] if isinstance(value, np.ndarray) and value.ndim == 2 else width
        if given == width or not {given, width} <= _POSITIONS:
            return self.convert(value, owner)
        found = np.zeros((len(value), width))
        found[:, 6:] = 1.0
        found[:, : min(given, width)] = value[:, :width]
        return found

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The numbers before the first that cannot be read, in whole vectors."""
        return reading.whole_rows(reading.first_numbers(value), self.columns(owner))

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        width = self.columns(owner)
        return f"takes a list of {f'vectors of {width} ' if width > 1 else ''}numbers"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return f"vector<Vec{self.columns(owner)}d>"


class Coords(Vectors):
    """Positions or velocities of a state; the owner's template says how many numbers each has."""

    def __init__(self, default: Any, help: str, **options: Any) -> None:
        super().__init__(3, default, help, **options)

    def columns(self, owner: Any) -> int:
        """Numbers in one vector."""
        return owner.coord_size


class Derivs(Coords):
    """Velocities or forces of a state; the owner's template says how many numbers each has."""

    def columns(self, owner: Any) -> int:
        """Numbers in one vector."""
        return owner.deriv_size


class Elements(DataType):
    """A list of elements, each a fixed number of vertex numbers; shape (n, width)."""

    data_class = DataContainer

    def __init__(self, width: int, default: Any, help: str, **options: Any) -> None:
        self.width = width
        super().__init__(default, help, **options)

    def convert(self, value: Any, owner: Any) -> np.ndarray:
        """See DataType."""
        return reading.rows(reading.whole_numbers(value), self.width)

    def salvage(self, value: Any, owner: Any, present: Any) -> np.ndarray:
        """The numbers before the first that cannot be read, in whole elements."""
        return reading.whole_rows(reading.first_whole_numbers(value), self.width)

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return f"takes a list of {self.width} vertex numbers each"

    def sofa_name(self, owner: Any) -> str:
        """See DataType."""
        return f"vector<fixed_array<Index,{self.width}>>"


def _spelt(value: Any) -> str:
    """A number or text as SOFA writes it: 1.0 is 1."""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


class SparseMatrix(DataType):
    """A sparse matrix that its owner computes when it is read; None while there is none.

    SOFA's MatrixDeriv.
    """

    def __init__(self, help: str) -> None:
        super().__init__(None, help, computed=True, linkable=False)

    def convert(self, value: Any, owner: Any) -> None:
        """See DataType."""
        if value is not None and value != "":
            raise ValueError("computed")

    def expectation(self, owner: Any) -> str:
        """See DataType."""
        return "is computed"

    def format(self, value: Any) -> str:
        """See DataType."""
        return "" if value is None else str(value)
