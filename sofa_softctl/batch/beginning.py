"""The common beginning of runs: scenes that are loaded and warmed up, and begin from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sofa_softctl._internal.suggestions import did_you_mean
from sofa_softctl.batch.study import Scenario
from sofa_softctl.errors import StudyError


class Beginnings:
    """Keeps the session of the last run, for those that begin as it did."""

    def __init__(self) -> None:
        self._key = ""
        self._session: Any = None
        self._snapshot: Any = None

    @contextmanager
    def session(self, scenario: Scenario, parameters: Mapping[str, Any]) -> Iterator[Any]:
        """A session that is warmed up, with the Data of `parameters` set.

        Without a warm-up it is a new one, which is closed at the end of the block. Otherwise it is
        kept: the next run with the same parameters of createScene begins from its snapshot.
        """
        own = {name: value for name, value in parameters.items() if "." not in name}
        data = {name: value for name, value in parameters.items() if "." in name}
        if not scenario.warmup or scenario.backend != "embedded":
            with _opened(scenario, own) as session:
                session.step(scenario.warmup)
                set_data(session, data)
                yield session
            return
        key = json.dumps([scenario.scene, scenario.warmup, own], sort_keys=True)
        if key != self._key:
            self.forget()
            self._session = session = _opened(scenario, own)
            session.step(scenario.warmup)
            self._snapshot, self._key = session.snapshot(), key
        else:
            self._session.restore(self._snapshot)
        set_data(self._session, data)
        yield self._session

    def forget(self) -> None:
        """Close the session that is kept: after an error nobody knows what it is like."""
        session, self._session, self._key = self._session, None, ""
        if session is not None:
            session.close()


def _opened(scenario: Scenario, parameters: Mapping[str, Any]) -> Any:
    """A new session, whose bridges move no robot."""
    from sofa_softctl.scene.devices import keep_devices_closed
    from sofa_softctl.scene.session import Session

    scene, backend = scenario.scene, scenario.backend
    return Session(scene, backend=backend, parameters=dict(parameters), add=keep_devices_closed)


def set_data(session: Any, values: Mapping[str, Any]) -> None:
    """Set Data by their paths, such as 'finger/cable.value'.

    Raises:
        StudyError: There is no such Data.
    """
    if not values:
        return
    owners = {
        entry.getPathName().lstrip("/"): entry
        for node in session.nodes()
        for entry in (node, *node.objects)
    }
    for name, value in values.items():
        path, _, data = name.rpartition(".")
        if path not in owners:
            raise StudyError(
                f"the scene has no component '{path}'.{did_you_mean(path, owners)} "
                f"It has: {', '.join(sorted(filter(None, owners)))}."
            )
        found = owners[path].findData(data)
        if found is None:
            raise StudyError(f"'{path}' of the scene has no Data '{data}'.")
        found.value = value
