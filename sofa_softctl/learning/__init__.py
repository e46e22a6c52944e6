"""Learning in scenes and on surrogates: Gymnasium environments, training, policies."""

from sofa_softctl._internal.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "action": ["Action"],
        "batch_task": ["Advanced", "BatchTask"],
        "controller": ["PolicyController"],
        "episode": ["Episode"],
        "observation": ["Observation"],
        "policy": ["Policy"],
        "quantities": ["Interface", "Quantities"],
        "scene_env": ["SceneEnv"],
        "spaces": ["QuantityBox"],
        "surrogate_env": ["SurrogateEnv", "SurrogateVectorEnv"],
        "task": ["Limits", "Task"],
    },
)
