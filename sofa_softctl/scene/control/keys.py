"""Keys pressed by a script, for scenes whose controllers move by keys."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import Sofa.Core

from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.errors import UsageError
from sofa_softctl.runtime.core.event import key_pressed, key_released
from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.control.steps import controllers_of
from sofa_softctl.scene.graph.nodes import nodes_of

_HEAR_KEYS = ("AnimationEditor", "MechanicalStateController")
"""Components, besides controllers in Python, that hear keys."""
NAMES = {
    "left": "\x12",
    "up": "\x13",
    "right": "\x14",
    "down": "\x15",
    "space": " ",
    "plus": "+",
    "minus": "-",
}
"""Keys that are more than a character, and what SOFA's key events carry for them."""


@dataclass(frozen=True)
class KeyPress:
    """A key that goes down and up."""

    time: float
    """Simulated time from which on; it happens at the start of the next step [time]."""
    key: str
    """Character that the event carries."""

    @classmethod
    def parse(cls, text: str) -> KeyPress:
        """What `--key t=1.5:+` says.

        Raises:
            UsageError: it is no time and key.
        """
        time, colon, key = text.removeprefix("t=").partition(":")
        try:
            seconds = float(time)
        except ValueError:
            seconds = math.nan
        if not colon or not key or not 0.0 <= seconds < math.inf:
            raise UsageError(
                f"--key takes a time and a key such as t=1.5:+ or t=2:up, got '{text}'."
            )
        if len(key) > 1 and key not in NAMES:
            hint = did_you_mean(key, NAMES)
            raise UsageError(
                f"--key {text}: there is no key '{key}'.{hint} A key is one character, or one of "
                f"{', '.join(NAMES)}."
            )
        return cls(seconds, NAMES.get(key, key))


class KeyPresses(Sofa.Core.Controller):  # type: ignore[misc]
    """Presses keys at given times: the scene's controllers get key events as from SOFA's window.

    Args:
        root: The scene's root.
        keys: The keys; each is pressed once in a run.
    """

    def __init__(self, *args: Any, root: Any, keys: Sequence[KeyPress], **kwargs: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.keys = root, sorted(keys, key=lambda entry: entry.time)
        self.pressed = 0

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Press what is due."""
        del event
        now = float(self.root.time.value) + 1e-9 * float(self.root.dt.value)  # sums of dt round
        while self.pressed < len(self.keys) and self.keys[self.pressed].time <= now:
            if not self.pressed:
                self._warn_of_no_listener()
            key = self.keys[self.pressed].key
            self.pressed += 1
            for sent in (key_pressed(key), key_released(key)):
                if hasattr(self.root, "send"):
                    self.root.send(sent)
                    continue
                for controller in controllers_of(Sofa, self.root):  # of a real SOFA
                    getattr(controller, sent.handler, controller.onEvent)(dict(sent))

    def _warn_of_no_listener(self) -> None:
        hearers = [entry for entry in key_hearers(self.root) if entry is not self]
        for text in of_other_case(hearers, [entry.key for entry in self.keys]):
            Sofa.msg_warning(self, text)
        if not hearers:
            Sofa.msg_warning(
                self,
                "a key is pressed, and nothing in the scene hears it: no controller has a method "
                "onKeypressedEvent(self, event).",
            )

    def cleanup(self) -> None:
        """Warn of keys whose time never came."""
        if left := self.keys[self.pressed :]:
            Sofa.msg_warning(
                self,
                f"{len(left)} of {len(self.keys)} keys were never pressed: the run ended at "
                f"t = {float(self.root.time.value):.4g}, before t = {left[0].time:g}. Run longer, "
                "or press them earlier.",
            )

    def reset(self) -> None:
        """From the first key again."""
        self.pressed = 0


def key_hearers(root: Any) -> list[Any]:
    """Return the controllers and components of a scene that hear keys."""
    entries = (entry for node in nodes_of(root) for entry in node.objects)
    return [
        *filter(_hears_keys, controllers_of(find_backend().Sofa, root)),
        *(entry for entry in entries if entry.getClassName() in _HEAR_KEYS),
    ]


def of_other_case(hearers: Iterable[Any], keys: Iterable[str]) -> Iterator[str]:
    """Name keys that only with the other case are in the code of what hears them."""
    try:
        methods: list[Any] = [getattr(type(e), "onKeypressedEvent", None) for e in hearers]
        text = "".join(map(inspect.getsource, methods))
    except (OSError, TypeError):
        return
    named = {a or b for a, b in re.findall(r"['\"](\w)['\"]|Key\.(\w)\b", text)}
    for key in () if re.search(r"\.(lower|upper|casefold)\(", text) else dict.fromkeys(keys):
        if key not in named and key.isalpha() and key.swapcase() in named:
            yield (
                f"key '{key}' is pressed, and only '{key.swapcase()}' is in a method "
                "onKeypressedEvent: press that one, or compare with both."
            )


def _hears_keys(controller: Any) -> bool:
    """Return True if a controller does something when a key is pressed."""
    plain = find_backend().Sofa.Core.Controller
    return any(
        getattr(type(controller), name, None) is not getattr(plain, name, None)
        or name in vars(controller)
        for name in ("onKeypressedEvent", "onEvent")
    )
