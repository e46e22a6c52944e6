"""Open a page on a scene, a session or a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sofa_softctl.record.record import read_record
from sofa_softctl.scene.backend.backend import find_backend

if TYPE_CHECKING:
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.browser.motion import Motion
    from sofa_softctl.view.browser.page import Page

RECORDINGS = (".mcap", ".part")
"""Suffixes of recordings, and of those that a killed run left."""


def open_view(
    source: Session | str | Path,
    *,
    parameters: dict[str, Any] | None = None,
    backend: str | None = None,
    host: str = "localhost",
    port: int | None = None,
    playing: bool = True,
) -> Page:
    """Open a page in the browser that shows a robot, to watch it and to touch it.

    `page.run()` plays as the viewers ask, until Ctrl-C; a loop of your own calls `page.update()`
    after its steps. Either way what viewers ask for is done in the caller's thread. In a notebook
    the page is shown as the value of a cell.

    Args:
        source: A session, a scene file, or a recording (.mcap).
        parameters: Parameters of the scene file's createScene.
        backend: Backend of the scene file: 'auto', 'embedded' or 'sofa'.
        host: Address to listen at: this computer by default; all others get a token.
        port: Port; the first free one from 8080 by default.
        playing: Whether it plays from the start.

    Returns:
        The page, a context manager; its attribute `address` is for the browser.

    Raises:
        SoftctlError: The extra [view] is missing, the scene is invalid, there is nothing to show.
        UsageError: The address or port cannot be used.
    """
    find_backend(backend)  # before the modules that import Sofa
    from sofa_softctl.scene.session.session import Session
    from sofa_softctl.view.browser.motion import LiveMotion, RecordedMotion
    from sofa_softctl.view.browser.page import Page

    options: dict[str, Any] = {"host": host, "port": port, "playing": playing}
    if isinstance(source, Session):
        return Page(LiveMotion(source), source.name, **options)
    path = Path(source)
    if path.suffix.lower() in RECORDINGS:
        return Page(RecordedMotion(read_record(path)), path.name, **options)

    def open_scene(values: dict[str, Any]) -> Motion:
        return LiveMotion(Session(path, backend=backend, parameters=values))

    motion = open_scene(dict(parameters or {}))
    return Page(motion, path.name, open_scene=open_scene, **options)
