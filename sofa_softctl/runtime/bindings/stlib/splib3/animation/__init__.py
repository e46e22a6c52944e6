"""Animations: functions that are called in every step with how far they are."""

from splib3.animation.animate import (
    AnimationManager,
    AnimationManagerController,
    animate,
)

__all__ = ["AnimationManager", "AnimationManagerController", "animate", "easing"]
