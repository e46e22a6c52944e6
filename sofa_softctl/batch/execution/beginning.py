"""Common beginning of runs: scenes that are loaded, warmed up and started from a snapshot."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from sofa_softctl.base.executors.packing import original_paths
from sofa_softctl.base.suggestions import did_you_mean
from sofa_softctl.batch.execution.isolation import Output, Settings
from sofa_softctl.batch.study.study import Scenario
from sofa_softctl.errors import StudyError


class WarmSessionCache:
    """Cache of the last run's session, for runs that begin in the same way."""

    def __init__(self) -> None:
        self._key = ""
        self._session: Any = None
        self._snapshot: Any = None
        self._printed = ""
        self._settings = Settings()

    @contextmanager
    def session(
        self, scenario: Scenario, parameters: Mapping[str, Any], output: Output
    ) -> Iterator[Any]:
        """Yield a session that is warmed up, with the Data of `parameters` set.

        It is kept if there is a warm-up and every controller can return to a snapshot: the next
        run with the same parameters of createScene begins from it, bit for bit as a new session
        would. Otherwise it is closed at the end of the block.

        Args:
            scenario: Scenario to open.
            parameters: Parameters of createScene, and Data.
            output: Receives the text printed until then, also by the run of the warm-up.
        """
        scene_parameters, data = split_parameters(parameters)
        key = json.dumps(
            [scenario.scene, scenario.backend, scenario.warmup, scene_parameters], sort_keys=True
        )
        try:
            if key == self._key:
                self._session.restore(self._snapshot)
                self._settings.restore()
                output.write(self._printed)
            else:
                self._open(scenario, scene_parameters, key)
                self._printed, self._settings = output.text, Settings()
            set_data(self._session, data)
            yield self._session
        except BaseException as error:  # nobody knows what it is like now
            self.close(error)
            raise
        if not self._key:
            self.close()

    def _open(self, scenario: Scenario, parameters: Mapping[str, Any], key: str) -> None:
        self.close()
        # Without folders: runs of a project that was copied, or sent to a cluster, are the same.
        scene = os.path.basename(scenario.scene)
        content = [scene, scenario.backend, scenario.warmup, parameters]
        seed(original_paths(json.dumps(content, sort_keys=True, ensure_ascii=False)))
        self._session = open_session(scenario, parameters)
        self._session.step(scenario.warmup)
        if scenario.warmup and can_branch(self._session):
            self._snapshot, self._key = self._session.snapshot(), key

    def close(self, error: BaseException | None = None) -> None:
        """Close the stored session; after an error, without errors of its clean-up."""
        session, self._session, self._key = self._session, None, ""
        if session is not None:
            session.__exit__(type(error) if error else None, error, None)


def can_branch(session: Any) -> bool:
    """Return True if a session can return to a snapshot, with all its controllers."""
    if session.backend.name != "embedded":
        return False
    from sofa_softctl.runtime.core.component import Component

    return all(
        getattr(type(controller), "snapshot", Component.snapshot) is not Component.snapshot
        for controller in session.controllers
    )


def seed(name: str) -> None:
    """Seed the random generators of Python and numpy from a name."""
    digest = hashlib.sha256(name.encode()).digest()
    random.seed(digest)
    np.random.seed(int.from_bytes(digest[:4], "little"))  # noqa: NPY002 - what scenes may use


def split_parameters(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split parameters into arguments of createScene, and Data, with a dot in their names."""
    scene_parameters = {name: value for name, value in parameters.items() if "." not in name}
    return scene_parameters, {
        name: value for name, value in parameters.items() if name not in scene_parameters
    }


def open_session(scenario: Scenario, parameters: Mapping[str, Any]) -> Any:
    """Open a new session whose bridges move no robot."""
    from sofa_softctl.scene.graph.nodes import keep_devices_closed
    from sofa_softctl.scene.session.session import Session

    scene, backend = scenario.scene, scenario.backend
    return Session(scene, backend=backend, parameters=dict(parameters), add=keep_devices_closed)


def set_data(session: Any, values: Mapping[str, Any]) -> None:
    """Set Data by their paths, such as 'finger/cable.value'.

    Raises:
        StudyError: A component or Data is missing.
    """
    from sofa_softctl.scene.graph.nodes import path_of

    if not values:
        return
    owners = {
        path: owner
        for node in session.nodes()
        for path, owner in (
            (path_of(node), node),
            *((path_of(owner, node), owner) for owner in node.objects),
        )
    }
    for name, value in values.items():
        path, _, data = name.rpartition(".")
        if path not in owners:
            raise StudyError(
                f"the scene has no component '{path}'.{did_you_mean(path, owners)} "
                f"It has: {', '.join(sorted(filter(None, owners)))}."
            )
        data_field = owners[path].findData(data)
        if data_field is None:
            names = [field.getName() for field in owners[path].getDataFields()]
            raise StudyError(
                f"'{path}' of the scene has no Data '{data}'.{did_you_mean(data, names)}"
            )
        counts = owners[path].follows(data_field) if hasattr(owners[path], "follows") else "step"
        if counts == "start":
            raise StudyError(
                f"'{name}' is read only at the start, so that a value set later changes nothing. "
                "Make it a parameter of createScene."
            )
        data_field.value = value
        if hasattr(data_field, "where"):
            data_field.where = None  # no line of the scene
        if counts == "reinit":
            owners[path].reinit()
