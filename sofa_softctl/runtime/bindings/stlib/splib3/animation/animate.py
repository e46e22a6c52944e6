"""The animations of a scene, and the controller that calls them in every step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import Sofa.Core
from splib3.utils import deprecated_alias

from sofa_softctl.base.source_line import describe, scene_line
from sofa_softctl.errors import SceneError

manager: Any = None
"""The manager of the scene that was made or stepped last."""


class Animation:
    """Calls `onUpdate(factor=..., **params)` in every step; the factor goes from 0 to 1.

    Its first call is at factor 0, whenever that is; `params["startTime"]` [s] may say otherwise,
    and is handed over like any other parameter.
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
        except ValueError:  # a function in C that does not say what it takes
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
        """Forget when it began."""
        self.startTime = self.startTimeInit
        self.terminationDelay = self.terminationDelayInit

    def update(self, currentTime: float) -> None:
        """Call the function for that time [s]."""
        if self.startTime is None:
            self.startTime = currentTime
        factor = 1.0
        if self.duration != 0.0:
            factor = (currentTime - self.startTime) / self.duration
            factor = factor if self.direction > 0.0 else 1.0 - factor
        self.factor = min(max(factor, 0.0), 1.0)
        self.onUpdate(factor=self.factor, **self.params)

    def doOnDone(self, currentTime: float) -> None:
        """Call the function for its end."""
        del currentTime
        if self.onDone is not None:
            self.onDone(factor=self.factor, **self.params)

    def _goes_on(self) -> bool:
        """Whether there is a next call; one that repeats is turned round or starts again."""
        if self.factor < 1.0 if self.direction > 0.0 else self.factor > 0.0:
            return True
        if self.mode not in ("loop", "pingpong"):
            return False
        if self.mode == "pingpong":
            self.direction = -self.direction
        start, delay = self.startTime, self.terminationDelay
        # Without a delay it starts at the next step; with one it waits that long at its end.
        self.startTime = None if delay is None else self.duration + delay + start
        return True


class AnimationManagerController(Sofa.Core.Controller):
    """Calls the animations of a scene at the beginning of every step; added to its root."""

    def __init__(self, *args: Any, **values: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **values)
        self.listening = True
        self.name = "AnimationManager"
        self.node = args[0]
        self.totalTime = 0.0
        self.animations: list[Animation] = []

    def clearAnimations(self) -> None:
        """Forget all animations."""
        self.animations = []
        self.totalTime = 0.0

    def addAnimation(self, animation: Animation) -> None:
        """Start an animation."""
        self.animations.append(animation)

    def removeAnimation(self, animation: Animation) -> None:
        """Stop an animation."""
        self.animations.remove(animation)

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Call every animation, and let go of those that are done."""
        del event
        global manager
        manager = self  # so that `animate` in a callback starts one in this scene
        self.totalTime += self.node.getRoot().dt.value
        remaining = []
        for animation in self.animations:  # one that a callback starts is called in this step too
            animation.update(self.totalTime)
            if animation._goes_on():
                remaining.append(animation)
            else:
                animation.doOnDone(self.totalTime)
        self.animations = remaining


class AnimationStarter(Sofa.Core.Controller):
    """Calls a manager that the scene did not add, as the original's examples do not."""

    def __init__(self, manager: Any) -> None:
        Sofa.Core.Controller.__init__(self, name="AnimationStarter")
        self.manager = manager

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Call the manager, unless it is in the scene and called anyway."""
        if self.manager.getContext() is None:
            self.manager.onAnimateBeginEvent(event)


def AnimationManager(node: Any) -> Any:
    """The manager of the node's scene, without animations; `root.addObject` may be given it.

    There is one in each scene: a second call in the same scene gives the same again. A scene that
    does not add it has its animations all the same. (In the original they do not start.)
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
        params: What it is called with.
        duration: Until the factor is 1 [s].
        mode: 'once', 'loop', or 'pingpong': forth and back.
        onDone: Called in the same way once it has ended.
        terminationDelay: Pause before it repeats [s].
    """
    _present().addAnimation(Animation(duration, mode, onUpdate, params, onDone, terminationDelay))


def removeAnimation(animation: Animation) -> None:
    """Stop an animation."""
    _present().removeAnimation(animation)


def _present() -> Any:
    if manager is None:
        raise RuntimeError(
            "There is no AnimationManager yet. Before the first animate(...): "
            "root.addObject(AnimationManager(root)), from splib3.animation."
        )
    return manager
