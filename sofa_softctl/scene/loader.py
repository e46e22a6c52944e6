"""Scene files: Python files with `createScene(root)`, and the parameters that they take."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sofa_softctl.errors import SceneError
from sofa_softctl.runtime.scene_file import import_scene
from sofa_softctl.scene.backend import find_backend
from sofa_softctl.units import Units


@dataclass(frozen=True)
class SceneFile:
    """A scene that can be built."""

    path: Path
    """The file."""
    create: Callable[..., Any]
    """Its createScene."""
    parameters: Mapping[str, Any]
    """Defaults of the parameters that createScene takes beside the root."""
    duration: float | None = None
    """The file's DURATION: simulated time of a run when the user gives none."""
    units: Units | None = None
    """The file's UNITS."""

    def build(self, **values: Any) -> Any:
        """The root of a new scene graph, not initialised; values may be texts.

        Raises:
            SceneError: createScene takes no parameter of that name, or a text does not fit.
        """
        return build_scene(self.create, values)


def load_scene(path: str | Path) -> SceneFile:
    """Import a scene file.

    Raises:
        SceneError: there is no such file, or it has no createScene.
        Exception: whatever the file itself raises.
    """
    find_backend()  # before the scene imports Sofa
    module = import_scene(path)
    create = module.createScene
    duration = getattr(module, "DURATION", None)
    units = getattr(module, "UNITS", None)
    units = Units.parse(units) if units is not None else None
    return SceneFile(Path(path), create, parameters_of(create), duration, units)


def build_scene(create: Callable[..., Any], values: Mapping[str, Any] | None = None) -> Any:
    """The root of a new scene graph from a createScene function, not initialised."""
    known = parameters_of(create)
    arguments = {}
    for name, value in (values or {}).items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            listing = ", ".join(f"{key}={default!r}" for key, default in known.items()) or "none"
            raise SceneError(f"The scene takes no parameter '{name}'.{hint} It takes: {listing}.")
        arguments[name] = convert(name, value, known[name])
    Sofa: Any = find_backend().Sofa
    root = Sofa.Core.Node("root")
    create(root, **arguments)
    return root


def parameters_of(create: Callable[..., Any]) -> dict[str, Any]:
    """Names and defaults of a createScene's parameters, without the root."""
    parameters = list(inspect.signature(create).parameters.values())[1:]
    return {entry.name: entry.default for entry in parameters if entry.default is not entry.empty}


def convert(name: str, value: Any, default: Any) -> Any:
    """A text of the command line as the kind of value that the default is."""
    if not isinstance(value, str) or isinstance(default, str) or default is None:
        return value
    try:
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        if isinstance(default, int | float):
            return type(default)(value)
        if isinstance(default, Sequence):
            return type(default)(float(entry) for entry in value.split(","))  # type: ignore[call-arg]
    except (ValueError, KeyError) as error:
        raise SceneError(
            f"The scene's parameter '{name}' takes a {type(default).__name__} such as "
            f"{default!r}, got '{value}'."
        ) from error
    raise SceneError(f"The scene's parameter '{name}' cannot be set from the command line.")
