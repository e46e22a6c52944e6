"""Animations of a scene, and the controller that calls them in every step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import Sofa.Core
from splib3.utils import deprecated_alias

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import SceneError

manager: Any = None
"""Manager of the scene that was created or stepped last."""


class Animation:
    """Call of `onUpdate(factor=..., **params)` in every step; the factor goes from 0 to 1.

    The first call has factor 0 at any time, or at `params["startTime"]` [s], which is passed on
    like any other parameter.
    """

    @deprecated_alias(cb="onUpdate")
    def __init__(
        self,
        duration: float,
        mode: str | None,
        onUpdate: Callable[..., Any],
        params: dict[str, Any],
        onDone: Callable[..., Any] | None = None,
        terminationDelay: float | None = None,
    ) -> None:
        try:
            inspect.signature(onUpdate).bind(factor=0.0, **params)
        except ValueError:  # a function in C without a signature
            pass
        except TypeError as error:
            name, names = getattr(onUpdate, "__name__", "onUpdate"), ", ".join(["factor", *params])
            raise SceneError(
                f"{describe(scene_line())}: an animation calls {name} with the arguments "
                f"{names}, which it does not take: {error}."
            ) from None
        self.startTime: Any = params.get("startTime")
        self.startTimeInit: float | None = None
        self.terminationDelay = self.terminationDelayInit = terminationDelay
        self.duration = duration
        self.onUpdate = onUpdate
        self.onDone = onDone
        self.params = params
        self.factor = 1.0
        self.direction = 1.0
        self.mode = mode

    def reset(self) -> None:
        """Reset the start time."""
        self.startTime = self.startTimeInit
        self.terminationDelay = self.terminationDelayInit

    def update(self, currentTime: float) -> None:
        """Call `onUpdate` for this time [s]."""
        if self.startTime is None:
            self.startTime = currentTime
        factor = 1.0
        if self.duration != 0.0:
            factor = (currentTime - self.startTime) / self.duration
            factor = factor if self.direction > 0.0 else 1.0 - factor
        self.factor = min(max(factor, 0.0), 1.0)
        self.onUpdate(factor=self.factor, **self.params)

    def doOnDone(self, currentTime: float) -> None:
        """Call `onDone`."""
        del currentTime
        if self.onDone is not None:
            self.onDone(factor=self.factor, **self.params)

    def _has_next_call(self) -> bool:
        """Return True if there is a next call; restart or reverse an animation that repeats."""
        if self.factor < 1.0 if self.direction > 0.0 else self.factor > 0.0:
            return True
        if self.mode not in ("loop", "pingpong"):
            return False
        if self.mode == "pingpong":
            self.direction = -self.direction
        start, delay = self.startTime, self.terminationDelay
        # Without a delay it starts at the next step; with a delay it waits at its end.
        self.startTime = None if delay is None else self.duration + delay + start
        return True


class AnimationManagerController(Sofa.Core.Controller):
    """Controller at the root that calls the animations at the beginning of every step."""

    def __init__(self, *args: Any, **values: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **values)
        self.listening = True
        self.name = "AnimationManager"
        self.node = args[0]
        self.totalTime = 0.0
        self.animations: list[Animation] = []

    def clearAnimations(self) -> None:
        """Remove all animations."""
        self.animations = []
        self.totalTime = 0.0

    def addAnimation(self, animation: Animation) -> None:
        """Start an animation."""
        self.animations.append(animation)

    def removeAnimation(self, animation: Animation) -> None:
        """Stop an animation."""
        self.animations.remove(animation)

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Call every animation, and remove those that have ended."""
        del event
        global manager
        manager = self  # so that `animate` in a callback starts one in this scene
        self.totalTime += self.node.getRoot().dt.value
        remaining = []
        for animation in self.animations:  # also those that a callback starts in this step
            animation.update(self.totalTime)
            if animation._has_next_call():
                remaining.append(animation)
            else:
                animation.doOnDone(self.totalTime)
        self.animations = remaining


class AnimationStarter(Sofa.Core.Controller):
    """Controller that calls a manager that the scene did not add, as in the original's examples."""

    def __init__(self, manager: Any) -> None:
        Sofa.Core.Controller.__init__(self, name="AnimationStarter")
        self.manager = manager

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Call the manager, unless it is in the scene and called anyway."""
        if self.manager.getContext() is None:
            self.manager.onAnimateBeginEvent(event)


def AnimationManager(node: Any) -> Any:
    """Return the manager of the node's scene, without animations, for `root.addObject`.

    Each scene has one: a second call in the same scene returns the same manager. Animations run
    even in a scene that does not add it. (In the original they do not start.)
    """
    global manager
    if manager is not None and manager.node.getRoot() == node.getRoot():
        manager.clearAnimations()
    else:
        manager = AnimationManagerController(node)
        node.addObject(AnimationStarter(manager))
    return manager


def animate(
    onUpdate: Callable[..., Any],
    params: dict[str, Any],
    duration: float,
    mode: str = "once",
    onDone: Callable[..., Any] | None = None,
    terminationDelay: float | None = None,
) -> None:
    """Start an animation.

    Args:
        onUpdate: Called in every step as onUpdate(factor=..., **params).
        params: Keyword arguments of the calls.
        duration: Time until the factor is 1 [s].
        mode: 'once', 'loop', or 'pingpong': back and forth.
        onDone: Called with the same arguments at the end.
        terminationDelay: Pause before it repeats [s].
    """
    _current_manager().addAnimation(
        Animation(duration, mode, onUpdate, params, onDone, terminationDelay)
    )


def removeAnimation(animation: Animation) -> None:
    """Stop an animation."""
    _current_manager().removeAnimation(animation)


def _current_manager() -> Any:
    if manager is None:
        raise RuntimeError(
            "There is no AnimationManager yet. Before the first animate(...): "
            "root.addObject(AnimationManager(root)), from splib3.animation."
        )
    return manager
