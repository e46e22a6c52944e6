"""Learning in scenes and on surrogates: Gymnasium environments, training, policies.

Importing it registers our environments with Gymnasium, see `registration`.
"""

from sofa_softctl.base.public import public
from sofa_softctl.learning.registration import register

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "action": ["Action"],
        "surrogates.batch_task": ["Advanced", "BatchTask"],
        "controller": ["PolicyController"],
        "episode": ["Episode"],
        "surrogates.line_task": ["LineTask"],
        "observation": ["Observation"],
        "policy": ["Policy"],
        "quantities": ["Interface", "Quantities"],
        "scene_env": ["SceneEnv"],
        "spaces": ["QuantityBox"],
        "surrogates.surrogate_env": ["SurrogateEnv", "SurrogateVectorEnv"],
        "task": ["Limits", "Task"],
    },
)

register()
