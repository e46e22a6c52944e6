"""The start of the device process."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sofa_softctl.bridge.config.robot import RobotConfig
from sofa_softctl.bridge.stream.homes import home_of
from sofa_softctl.bridge.stream.link import Link
from sofa_softctl.errors import ConfigError, DeviceUnavailableError

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def launch(robot: RobotConfig, dry_run: bool) -> tuple[subprocess.Popen[bytes], Link]:
    """Start the process and give it the configuration; it opens the devices then.

    It has a session of its own, so that keys of the terminal (Ctrl-C, Ctrl-Z) and the end of the
    terminal reach the scene alone. It inherits nothing else from the scene: no `__main__` is
    imported again.

    Raises:
        ConfigError: A device is not known, or cannot be imported in another process.
        DeviceUnavailableError: There is no Python to run.
    """
    homes = {} if dry_run else {device.type: home_of(device.type) for device in robot.devices}
    try:
        setup = pickle.dumps(homes) + pickle.dumps((robot, dry_run))
    except Exception as error:  # pickle raises whatever an object's own methods raise
        raise ConfigError(
            f"the configuration '{robot.path}' cannot be sent to the device process: {error}"
        ) from error
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    module = "sofa_softctl.bridge.stream.process"
    try:
        with theirs:
            process = subprocess.Popen(
                [python(), "-P", "-m", module, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=_errors(),  # what a device prints must not mix with what the command prints
                stderr=_errors(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=_environment(os.environ),
            )
    except OSError as error:
        ours.close()
        raise DeviceUnavailableError(f"the device process cannot be started: {error}") from error
    except BaseException:
        ours.close()
        raise
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            stdin.write(setup)
    except BrokenPipeError:
        pass  # it ended already; whoever waits for its first message finds out
    return process, Link(ours)


def _errors() -> int:
    """The standard error output, if it is open."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


def python() -> str:
    """The Python of this process; under runSofa, `sys.executable` is another program.

    Raises:
        DeviceUnavailableError: There is none.
    """
    for candidate in _candidates():
        if (
            candidate
            and Path(candidate).name.startswith("python")
            and os.access(candidate, os.X_OK)
        ):
            return candidate
    raise DeviceUnavailableError(
        f"no Python was found in '{sys.prefix}' to run the device process with."
    )


def _candidates() -> Iterator[str | None]:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    yield sys.executable
    for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix):
        yield from (f"{prefix}/bin/{name}" for name in (version, "python3"))
    yield shutil.which(version)


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Of this process, with its import path; numpy starts no threads for vectors this short."""
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**ours, "PYTHONPATH": paths, **dict.fromkeys(ONE_THREAD, "1")}
