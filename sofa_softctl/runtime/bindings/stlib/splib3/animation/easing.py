"""Interpolation of values in animations."""


def LinearRamp(beginValue: float = 0.0, endValue: float = 1.0, scale: float = 0.5) -> float:
    """The value at `scale` (0 to 1) of the way from the first to the last."""
    return beginValue + (endValue - beginValue) * scale
