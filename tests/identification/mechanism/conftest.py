import numpy as np
import pytest

from sofa_softctl.identification.mechanism.mechanism import Mechanism
from sofa_softctl.identification.mechanism.parts import (
    Body,
    Damper,
    Joint,
    Rod,
    Scaled,
    Spring,
)
from sofa_softctl.identification.model.parameter import Parameter

PARAMETERS = (
    Parameter("mass", 1.2, "kg"),
    Parameter("stiffness", 3.0, "N m/rad"),
    Parameter("damping", 0.1, "N m s/rad"),
    Parameter("length", 0.7, "m"),
    Parameter("rest", 0.2, "rad", lower=-1.0),
    Parameter("rod", 1.9, "m"),
)
"""One of each kind that a mechanism's numbers can be."""


def _turned(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def _gyration(rng):
    a = rng.normal(size=(3, 3))
    return 0.01 * a @ a.T


@pytest.fixture(scope="session")
def tree():
    """Two branches, turning and sliding, a length and a closed loop; nothing along an axis."""
    rng = np.random.default_rng(0)
    x = rng.normal
    joints = (
        Joint("a", axis=x(size=3), moved=(0.1, 0.2, 0.3), turned=_turned(rng)),
        Joint("b", "a", axis=x(size=3), moved=(0.5, 0.2, 0.3), turned=_turned(rng)),
        Joint("length", "b", axis=(1, 2, 3), sliding=True, rigid="length"),
        Joint("c", "length", x(size=3), sliding=True, moved=(0.5, 0.2, -0.3), turned=_turned(rng)),
        Joint("e", "a", axis=x(size=3), moved=(0.4, -0.2, 0.3), turned=_turned(rng)),
        Joint("f", "e", axis=x(size=3), moved=(0.4, -0.2, 0.3), turned=_turned(rng)),
    )
    masses = (1.0, "mass", 0.4, Scaled("mass", 0.5), 0.7, 0.9)
    bodies = [
        Body(one.name, m, 0.2 * x(size=3), _gyration(rng))
        for one, m in zip(joints, masses, strict=True)
    ]
    return Mechanism(
        joints,
        bodies,
        springs=(Spring("b", "stiffness", "rest"), Spring("f", Scaled("stiffness", 2.0))),
        dampers=(Damper("e", "damping"), Damper("c", 0.3)),
        constraints=(Rod("c", (0.1, 0.2, 0.3), "rod", "f", (0.3, 0.1, 0.2)),),
        parameters=PARAMETERS,
    )


@pytest.fixture(scope="session")
def rho():
    return np.array([one.start for one in PARAMETERS])
