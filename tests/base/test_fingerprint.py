"""Digests by content: equal where values are, another where they differ, refused where unknown."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from sofa_softctl.base.fingerprint import Fingerprint


def of(value):
    return Fingerprint().of(value)


@dataclass
class Law:
    stiffness: float
    table: np.ndarray


def law(k, power=2.0):
    return k**power


def other(k, power=2.0):
    return k**power + 1.0


PAIRS = [
    (1, 2),
    (1, True),
    (1, 1.0),
    ("1", 1),
    ("ab", b"ab"),
    ([1, 2], [2, 1]),
    ([1, [2]], [[1], 2]),
    ({"a": 1}, {"a": 2}),
    ({1, 2}, {1, 3}),
    (np.zeros(2), np.zeros((2, 1))),
    (np.zeros(2), np.zeros(2, int)),
    (np.array([1.0, np.nan]), np.array([1.0, np.inf])),
    (np.array([1e9, 1e-3]), np.array([1e9, 2e-3])),
    (Law(1.0, np.ones(2)), Law(1.1, np.ones(2))),
    (Law(1.0, np.ones(2)), Law(1.0, np.array([1.0, 2.0]))),
    (law, other),
    (law, lambda k: k),
    (scipy.sparse.eye(3, format="csr"), 2.0 * scipy.sparse.eye(3, format="csr")),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_different_values_have_different_digests(first, second):
    assert of(first) != of(second)
    assert of(first) == of(first)


def test_equal_values_have_one_digest():
    """Whatever their order in memory, and whether they are one object or two."""
    one = [1.5, "x"]
    assert of([one, one]) == of([[1.5, "x"], [1.5, "x"]])
    assert of({"a": 1, "b": 2}) == of({"b": 2, "a": 1})
    assert of({f"{k}" for k in range(9)}) == of({f"{k}" for k in reversed(range(9))})
    assert of(Law(1.0, np.arange(3.0))) == of(Law(1.0, np.arange(3.0)))
    assert of(np.arange(6.0).reshape(2, 3).T) == of(np.arange(6.0).reshape(2, 3).T.copy())
    assert of(np.int32([1, 2])) == of(np.int64([1, 2]))


def test_what_contains_itself_has_a_digest():
    first, second = [1], [1]
    first.append(first)
    second.append(second)
    assert of(first) == of(second) != of([1])


@pytest.mark.parametrize("x", [0.5, 1.0, 0.1, 1e-9, 33.3, 4000.0, 2.0**-20])
def test_the_last_digits_of_numbers_do_not_count(x):
    """Those that a BLAS makes are 1e-16; a relative change of 1e-8 is another number."""
    assert of(x) == of(x * (1.0 + 1e-15)) == of(x * (1.0 - 1e-15))
    assert of(x) != of(x * (1.0 + 1e-8))


def test_values_of_closures_and_globals_of_a_function_count():
    def made(k):
        return lambda x: k * x

    assert of(made(1.0)) == of(made(1.0)) != of(made(2.0))
    spaces = [{"K": 1.0}, {"K": 2.0}, {"K": 1.0, "unused": 3.0}]
    for space in spaces:
        exec("def f(x):\n    return [K * each for each in x]", space)
    first, second, third = (of(space["f"]) for space in spaces)
    assert first == third != second


def test_what_has_no_content_is_refused():
    with pytest.raises(TypeError, match="a lock has no content to compare"):
        of([1, {"a": threading.Lock()}])
