"""Check for off-screen rendering, and silence it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sofa_softctl.errors import SoftctlError

PROBE = """
from vtkmodules import vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderWindow
window = vtkRenderWindow()
window.SetOffScreenRendering(1)
window.Render()
"""


def check_renderer() -> None:
    """Raise SoftctlError if movies cannot be rendered here; the message says what to install.

    VTK ends the process if it finds no OpenGL, so another process tries first.
    """
    try:
        import pyvista
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise SoftctlError(
            f"Movies need the extra [view] ({error}): {install_command('view')}."
        ) from error
    del pyvista
    if not _can_render():
        raise SoftctlError(
            "Movies need OpenGL to render without a screen, and none works here. On Debian or "
            "Ubuntu: apt-get install libegl1 libgl1-mesa-dri"
        )


@functools.cache
def _can_render() -> bool:
    with window_without_x():
        return subprocess.run([sys.executable, "-c", PROBE], capture_output=True).returncode == 0


@contextmanager
def window_without_x() -> Iterator[None]:
    """Make VTK use EGL or OSMesa instead of X, which ends the process without libX11."""
    name = "VTK_DEFAULT_OPENGL_WINDOW"
    if name in os.environ or sys.platform != "linux":
        yield
        return
    os.environ[name] = "vtkEGLRenderWindow"
    try:
        yield
    finally:
        del os.environ[name]


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Suppress VTK's warnings, which are for its developers."""
    from vtkmodules.vtkCommonCore import vtkLogger, vtkObject

    shown, verbosity = vtkObject.GetGlobalWarningDisplay(), vtkLogger.GetCurrentVerbosityCutoff()
    vtkObject.GlobalWarningDisplayOff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkObject.SetGlobalWarningDisplay(shown)
        vtkLogger.SetStderrVerbosity(vtkLogger.ConvertToVerbosity(int(verbosity)))
