"""Scores of policies and of baselines."""

from sofa_softctl.base.public import public

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "scores": ["Score", "score", "score_baseline"],
    },
)
