"""Training by stable-baselines3, the extra [rl]."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "settings": ["SCENES", "Settings"],
        "trainer": [
            "CurvePoint",
            "TrainingResult",
            "check_extra",
            "save_curve",
            "train",
        ],
    },
)
