"""Gymnasium, or an error that says how to install it."""

from __future__ import annotations

from sofa_softctl.errors import SoftctlError

try:
    import gymnasium
except ImportError as error:  # pragma: no cover - where it is not installed
    raise SoftctlError(
        'Environments need the extra [learning]: pip install "sofa-softctl[learning]".'
    ) from error

__all__ = ["gymnasium"]
