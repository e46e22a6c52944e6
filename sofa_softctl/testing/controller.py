"""Check of controllers: a run in a small scene, reset, snapshot, recording, summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sofa_softctl.scene.backend.backend import find_backend
from sofa_softctl.scene.session.run import Histories
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

    It makes its steps without an error; after a reset it makes the first ones again, and so it
    does from a snapshot, bit for bit; what `recorded` lists can be recorded, with known units;
    `summary`, `plot`, `markers` and `hold`, where it has them, do what `SceneController` says.

    Args:
        cls: A subclass of Sofa.Core.Controller, such as a SceneController.
        arguments: Gives what the class is made with beside `name` and `root`, from the scene.
        steps: Of each run, at least 2.

    Returns:
        The controller, in its scene after the last run.

    Raises:
        AssertionError: What is wrong, what was expected and what came.
    """
    Sofa: Any = find_backend("embedded").Sofa
    name = getattr(cls, "__name__", str(cls))
    if not (isinstance(cls, type) and issubclass(cls, Sofa.Core.Controller)):
        raise AssertionError(f"{name}: expected a subclass of Sofa.Core.Controller, got {cls!r}.")
    made: list[Any] = []

    def createScene(root: Any) -> None:
        scene = small_scene(root)
        given = arguments(scene) if arguments is not None else {}
        made.append(root.addObject(cls(name="checked", root=root, **given)))

    session = Session(createScene, backend="embedded")
    controller = made[-1]
    histories, first = Histories(), []
    histories.begin(session)
    for step in range(1, steps + 1):
        try:
            session.step()
        except Exception as error:
            raise AssertionError(
                f"{name}: expected {steps} steps, got {type(error).__name__} in step {step}: "
                f"{error}"
            ) from error
        histories.step(session, step)
        first.append(values_of(session))
    for one, history in histories.by_controller():
        if one is controller:
            check_shown(controller, history)
    check_reset(session, name, first)
    check_snapshot(session, name, steps)
    check_recorded(session, controller, steps)
    return controller
