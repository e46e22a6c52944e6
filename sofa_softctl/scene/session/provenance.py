"""Provenance of a run: scene and parameters, backend, versions, computer."""

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
    """Return the data needed to repeat a session's run, for JSON.

    Args:
        session: The `Session`.

    Returns:
        `scene`, `parameters` of createScene with defaults, `dt`, `units` (or None), `backend`,
        `versions`, `cpu`, `os`, and `controllers`: the result of `about` by path.
    """
    units, backend, computer = session.units, session.backend, environment()
    if backend.name == "sofa":
        computer["versions"]["sofa"] = backend.version
    return {
        "scene": session.name,
        "parameters": {name: _as_json(value) for name, value in session.all_parameters().items()},
        "dt": session.dt,
        "units": None if units is None else str(units),
        "backend": backend.describe(),
        **computer,
        "controllers": {
            path_of(controller): about
            for controller in session.controllers
            if (about := _controller_metadata(controller))
        },
    }


def environment() -> dict[str, Any]:
    """Return `versions` by package, `cpu` and `os`, for JSON."""
    return {"versions": versions(), "cpu": _cpu(), "os": platform.platform()}


def as_texts(run: Mapping[str, Any]) -> dict[str, str]:
    """Return provenance as metadata of a recording: texts such as `parameter.path`, `python`.

    Values of controllers that are not texts become JSON, such as `inverse.actuators`.
    """
    texts = {key: str(run[key]) for key in ("scene", "backend", "cpu", "os")}
    texts["dt"] = repr(run["dt"])
    if run["units"] is not None:
        texts["units"] = run["units"]
    texts |= run["versions"]
    texts |= {f"parameter.{name}": str(value) for name, value in run["parameters"].items()}
    for path, about in run["controllers"].items():
        for key, value in about.items():
            texts[f"{path}.{key}"] = value if isinstance(value, str) else json.dumps(value)
    return texts


def _controller_metadata(controller: Any) -> dict[str, Any]:
    """Return `about()` of a SceneController, or {}; other classes may define it differently."""
    about = getattr(type(controller), "about", None)
    outputs = getattr(controller, "outputs", None)
    return about(controller) if callable(about) and isinstance(outputs, dict) else {}


def _as_json(value: Any) -> Any:
    """Return a parameter as a JSON value, or else as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value


def _cpu() -> str:
    """Return the model of the processor, or its architecture if the model is unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()
