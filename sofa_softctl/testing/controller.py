"""Check of controllers: a run in a small scene, reset, snapshot, recording, summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.session import Session
from sofa_softctl.testing.repeated_run import check_reset, check_snapshot, values_of
from sofa_softctl.testing.scene import SmallScene, small_scene
from sofa_softctl.testing.shown import check_recorded, check_shown


def check_controller(
    cls: type[Any],
    arguments: Callable[[SmallScene], dict[str, Any]] | None = None,
    *,
    steps: int = 20,
) -> Any:
    """Check a controller in a soft bar with two cables, see `SmallScene`, without SOFA.

    It makes its steps without an error and repeats them bit for bit after a reset and from a
    snapshot; Data listed in `recorded` can be recorded, with known units; `summary`, `plot`,
    `markers` and `hold`, if present, fulfil the contract of `SceneController`.

    Args:
        cls: A subclass of Sofa.Core.Controller, such as a SceneController.
        arguments: Returns, for a scene, arguments of the class in addition to `name` and `root`.
        steps: Number of steps of each run, at least 2.

    Returns:
        The controller, in its scene after the last run.

    Raises:
        AssertionError: The controller breaks a rule; the message names it.
    """
    Sofa: Any = find_backend("embedded").Sofa
    name = getattr(cls, "__name__", str(cls))
    if not (isinstance(cls, type) and issubclass(cls, Sofa.Core.Controller)):
        raise AssertionError(f"{name}: expected a subclass of Sofa.Core.Controller, got {cls!r}.")
    controllers: list[Any] = []

    def createScene(root: Any) -> None:
        scene = small_scene(root)
        options = arguments(scene) if arguments is not None else {}
        controllers.append(root.addObject(cls(name="checked", root=root, **options)))

    session = Session(createScene, backend="embedded")
    controller = controllers[-1]
    first_values = []
    with session.keeping_rows() as rows:
        for step in range(1, steps + 1):
            try:
                session.step()
            except Exception as error:
                raise AssertionError(
                    f"{name}: expected {steps} steps, got {type(error).__name__} in step {step}: "
                    f"{error}"
                ) from error
            first_values.append(values_of(session))
    for watched, history in rows.histories():
        if watched is controller:
            check_shown(controller, history)
    check_reset(session, name, first_values)
    check_snapshot(session, name, steps)
    check_recorded(session, controller, steps)
    return controller
