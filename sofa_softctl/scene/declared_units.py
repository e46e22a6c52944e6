"""The units that a scene declares, as a controller finds them."""

from __future__ import annotations

import inspect
from typing import Any

from sofa_softctl.base.source_line import scene_frame
from sofa_softctl.errors import SceneError
from sofa_softctl.scene.rollout.recipe import recipe_of
from sofa_softctl.units import Units


def declared_units(root: Any) -> Units | None:
    """UNITS of the scene's file; of the file of the running line where nobody knows it.

    Call it while the scene is made. In runSofa the file is that of the running line.

    Args:
        root: Root of the scene.

    Returns:
        The units; None where the file declares none.

    Raises:
        SceneError: UNITS is not one unit each of length, mass and time.
    """
    try:
        names = getattr(inspect.unwrap(recipe_of(root).create), "__globals__", {})
    except SceneError:
        frame = scene_frame()
        names = {} if frame is None else frame.f_globals
    text = names.get("UNITS")
    return None if text is None else Units.parse(text)
