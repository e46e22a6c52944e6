"""Learning in scenes and on surrogates: Gymnasium environments, training, policies.

Importing it registers our environments with Gymnasium, see `registration`.
"""

from sofa_softctl.base.public import public
from sofa_softctl.learning.environments.registration import register

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "environments.vector": ["CopiesVectorEnv"],
        "policy.controller": ["PolicyController"],
        "policy.policy": ["Policy"],
        "surrogates.batch_task": ["DecisionResult", "BatchTask"],
        "surrogates.line_task": ["LineTask"],
        "surrogates.surrogate_env": ["SurrogateEnv", "SurrogateVectorEnv"],
        "task.action": ["Action"],
        "task.observation": ["Observation"],
        "task.quantities": ["Interface", "Quantities"],
        "task.scene_env": ["SceneEnv"],
        "task.spaces": ["QuantityBox"],
        "task.episode": ["Episode"],
        "task.task": ["Limits", "Task"],
    },
)

register()
