"""Training by stable-baselines3, the extra [rl]."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "curve": ["CurvePoint", "save_curve"],
        "settings": ["SCENES", "Settings"],
        "trainer": ["Trained", "check_extra", "train"],
    },
)
