"""String through a body whose length is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def StringSensor(
    parentNode: Any = None,
    name: str = "StringSensor",
    cableGeometry: Sequence[Sequence[float]] = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    rotation: Sequence[float] = (0.0, 0.0, 0.0),
    translation: Sequence[float] = (0.0, 0.0, 0.0),
    uniformScale: float = 1.0,
) -> Any:
    """Raise an error: SOFA no longer has the component SensorEngine, on which it was built.

    Raises:
        NotImplementedError: Always; the message names an alternative.
    """
    del parentNode, name, cableGeometry, rotation, translation, uniformScale
    raise NotImplementedError(
        "StringSensor needs SOFA's component SensorEngine, which no version of SoftRobots has any "
        "more. Take a PullingCable with valueType='force' and initialValue=0, and read the length "
        "from its CableConstraint: cableInitialLength and cableLength."
    )
