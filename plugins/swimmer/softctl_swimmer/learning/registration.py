"""The swimmer in Gymnasium's registry."""

ID = "softctl/Swimmer-v0"
"""Id of the environment."""


def register() -> None:
    """Register the environment if Gymnasium is installed."""
    try:
        import gymnasium
    except ImportError:
        return
    home = "softctl_swimmer.learning.environment"
    gymnasium.register(
        ID,
        entry_point=f"{home}:make_env",
        vector_entry_point=f"{home}:make_vector",
        kwargs={"body": "fish", "vertices": 98, "exact": False},
    )
