"""Von Mises stresses as SOFA computes them, in SOFA and in the embedded runtime."""

import numpy as np
import pytest

METHODS = [("large", 1), ("large", 2), ("polar", 1), ("polar", 2), ("svd", 1), ("svd", 2)]
METHODS += [("small", 2)]  # with 1, SOFA's component is invalid, and its next step crashes
PROGRAM = f"""
import robots

def stress(method, option):
    session = Session(lambda root: robots.hanging(root, method, option))
    at_start = np.array(session.root.body.elasticity.vonMisesPerElement.value)
    session.step(5)
    field = session.root.body.elasticity
    return at_start, field.vonMisesPerElement.value, field.vonMisesPerNode.value

result([stress(*one) for one in {METHODS!r}])
"""


def test_stresses_are_those_of_sofa(in_sofa, embedded):
    """In a beam that bends far, of tetrahedra in all orders; 1e-9: after the same five steps."""
    found, said = in_sofa(PROGRAM)
    assert len(found) == len(METHODS), said
    for method, here, there in zip(METHODS, embedded(PROGRAM), found, strict=True):
        assert np.max(there[1]) > 1.0, method
        for ours, sofas in zip(here, there, strict=True):
            scale = np.max(there[1])
            assert np.array(ours) == pytest.approx(np.array(sofas), rel=1e-9, abs=1e-9 * scale)
