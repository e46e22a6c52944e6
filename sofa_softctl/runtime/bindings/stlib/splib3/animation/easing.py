"""Interpolation of values in animations."""


def LinearRamp(beginValue: float = 0.0, endValue: float = 1.0, scale: float = 0.5) -> float:
    """Return the value at the fraction `scale` (0 to 1) between the first and the last."""
    return beginValue + (endValue - beginValue) * scale
