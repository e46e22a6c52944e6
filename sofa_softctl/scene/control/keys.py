"""Keys pressed by a script, for scenes whose controllers react to keys."""

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
from sofa_softctl.scene.graph.nodes import controllers_of, key_hearers

NAMES = {
    "left": "\x12",
    "up": "\x13",
    "right": "\x14",
    "down": "\x15",
    "space": " ",
    "plus": "+",
    "minus": "-",
}
"""Names of keys, and their characters in SOFA's key events."""


@dataclass(frozen=True)
class KeyPress:
    """Press and release of a key."""

    time: float
    """Simulated time; the press happens at the start of the next step [time]."""
    key: str
    """Character in the event."""

    @classmethod
    def parse(cls, text: str) -> KeyPress:
        """Return the press for the text of an option such as `--key t=1.5:+`.

        Raises:
            UsageError: the text is not a time and a key.
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
    """Controller that sends key events, as from SOFA's window, at given times.

    Args:
        root: Root of the scene.
        keys: Key presses; each happens once in a run.
    """

    def __init__(self, *args: Any, root: Any, keys: Sequence[KeyPress], **kwargs: Any) -> None:
        Sofa.Core.Controller.__init__(self, *args, **kwargs)
        self.root, self.keys = root, sorted(keys, key=lambda press: press.time)
        self.pressed = 0

    def onAnimateBeginEvent(self, event: Any) -> None:
        """Press the keys whose time has come."""
        del event
        time = float(self.root.time.value) + 1e-9 * float(self.root.dt.value)  # sums of dt round
        while self.pressed < len(self.keys) and self.keys[self.pressed].time <= time:
            if not self.pressed:
                self._warn_of_no_listener()
            key = self.keys[self.pressed].key
            self.pressed += 1
            for key_event in (key_pressed(key), key_released(key)):
                if hasattr(self.root, "send"):
                    self.root.send(key_event)
                    continue
                for controller in controllers_of(Sofa, self.root):  # of a real SOFA
                    getattr(controller, key_event.handler, controller.onEvent)(dict(key_event))

    def _warn_of_no_listener(self) -> None:
        hearers = [hearer for hearer in key_hearers(self.root) if hearer is not self]
        for text in keys_of_other_case(hearers, [press.key for press in self.keys]):
            Sofa.msg_warning(self, text)
        if not hearers:
            Sofa.msg_warning(
                self,
                "a key is pressed, and nothing in the scene hears it: no controller has a method "
                "onKeypressedEvent(self, event).",
            )

    def cleanup(self) -> None:
        """Warn of keys whose time never came."""
        if late := self.keys[self.pressed :]:
            Sofa.msg_warning(
                self,
                f"{len(late)} of {len(self.keys)} keys were never pressed: the run ended at "
                f"t = {float(self.root.time.value):.4g}, before t = {late[0].time:g}. Run longer, "
                "or press them earlier.",
            )

    def reset(self) -> None:
        """Start from the first key again."""
        self.pressed = 0


def keys_of_other_case(hearers: Iterable[Any], keys: Iterable[str]) -> Iterator[str]:
    """Warn of keys that are only in the other case in the code of their listeners."""
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
