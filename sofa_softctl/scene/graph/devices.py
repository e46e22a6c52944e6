"""Whether controllers of a scene may open devices: those of a copy, or of a benchmark, may not."""

from __future__ import annotations

from typing import Any

_KEY = "_softctl_without_devices"


def keep_devices_closed(root: Any) -> None:
    """Say of a scene that its controllers must not open devices: it is a copy, or only measured."""
    root.__dict__[_KEY] = True


def devices_stay_closed(root: Any) -> bool:
    """Whether controllers of this scene must not open devices; ask before the first step."""
    return bool(getattr(root, "__dict__", {}).get(_KEY))
