"""Check whether a scene runs here, what it lacks and what it contains: `softctl check`."""

from sofa_softctl.check.folder import check_scenes, scenes_in
from sofa_softctl.check.result import Lack, SceneCheck, rank

__all__ = ["Lack", "SceneCheck", "check_scenes", "rank", "scenes_in"]
