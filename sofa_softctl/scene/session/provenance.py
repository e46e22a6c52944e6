"""What produced a run: scene and parameters, backend, versions, computer."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sofa_softctl.base.versions import versions
from sofa_softctl.scene.graph.nodes import path_of


def provenance(session: Any) -> dict[str, Any]:
    """What is needed to repeat a session's run, and to understand its numbers; for JSON.

    Args:
        session: The `Session`.

    Returns:
        `scene`, `parameters` (of createScene, defaults too), `dt`, `units` (None: not declared),
        `backend`, `versions`, `cpu`, `os`, and `controllers`: what each says by its `about`, by
        its path.
    """
    units, backend, computer = session.units, session.backend, environment()
    if backend.name == "sofa":
        computer["versions"]["sofa"] = backend.version
    return {
        "scene": session.name,
        "parameters": {name: _plain(value) for name, value in session.all_parameters().items()},
        "dt": session.dt,
        "units": None if units is None else str(units),
        "backend": backend.describe(),
        **computer,
        "controllers": {
            path_of(one): about for one in session.controllers if (about := _about(one))
        },
    }


def environment() -> dict[str, Any]:
    """`versions` by package, `cpu` and `os`; for JSON."""
    return {"versions": versions(), "cpu": _cpu(), "os": platform.platform()}


def as_texts(found: Mapping[str, Any]) -> dict[str, str]:
    """The same as metadata of a recording: texts, such as `parameter.path` and `python`.

    What a controller says is JSON where it is no text, such as `inverse.actuators`.
    """
    texts = {key: str(found[key]) for key in ("scene", "backend", "cpu", "os")}
    texts["dt"] = repr(found["dt"])
    if found["units"] is not None:
        texts["units"] = found["units"]
    texts |= found["versions"]
    texts |= {f"parameter.{name}": str(value) for name, value in found["parameters"].items()}
    for path, about in found["controllers"].items():
        for key, value in about.items():
            texts[f"{path}.{key}"] = value if isinstance(value, str) else json.dumps(value)
    return texts


def _about(controller: Any) -> dict[str, Any]:
    """Of a SceneController; a stranger's `about` may be anything."""
    about = getattr(type(controller), "about", None)
    outputs = getattr(controller, "outputs", None)
    return about(controller) if callable(about) and isinstance(outputs, dict) else {}


def _plain(value: Any) -> Any:
    """A parameter as JSON knows it; as text where it does not."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value


def _cpu() -> str:
    """Model of the processor; its architecture where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
