"""Faults of the processes of the scene and of the devices, and emergency stops."""

import os
import signal
import time

from tests.bridge.faults.fault import (
    AT_ONCE,
    NO_SCENE,
    TO_END,
    TO_REST,
    WATCHDOG,
    Fault,
)


def to_scene(number):
    return lambda trial: trial.host.signal(number)


def to_device(number):
    return lambda trial: os.kill(trial.device, number)


def twice(trial):
    trial.host.signal(signal.SIGINT)
    trial.sleep(0.02)
    trial.host.signal(signal.SIGINT)


def to_both(number):
    def inject(trial):
        os.kill(trial.device, number)
        trial.host.signal(number)

    return inject


def kill_on_the_way(trial):
    """Kill the device process while it brings the robot to rest."""
    trial.host.signal(signal.SIGINT)
    trial.sleep(0.06)
    os.kill(trial.device, signal.SIGKILL)


def unplug_on_the_way(trial):
    trial.host.signal(signal.SIGINT)
    trial.sleep(0.06)
    trial.board.unplug()


def pause_scene(trial):
    """Until the robot is at rest; then let it go on."""
    trial.host.signal(signal.SIGSTOP)
    trial.sleep(1.5)
    trial.host.signal(signal.SIGCONT)


def pause_device(trial):
    os.kill(trial.device, signal.SIGSTOP)
    trial.sleep(0.4)
    os.kill(trial.device, signal.SIGCONT)


def close_lid(trial):
    """Both processes stand still, and then go on."""
    os.kill(trial.device, signal.SIGSTOP)
    trial.host.signal(signal.SIGSTOP)
    trial.sleep(0.4)
    os.kill(trial.device, signal.SIGCONT)
    trial.host.signal(signal.SIGCONT)


def second_host(trial):
    """Another run on the same port."""
    status, trial.words = trial.run_to_end("second")
    assert status == 1 and "Traceback" not in trial.words, trial.words
    assert not trial.host.ended()
    trial.host.signal(signal.SIGTERM)


def stop_file(trial):
    (trial.folder / "stop").touch()


def stop_command(trial):
    status, trial.words = trial.command("bridge", "stop", trial.config)
    assert status == 0
    made = (trial.folder / "stop").stat().st_mtime
    trial.moment = made - time.time() + time.monotonic()


STOPPED_FILE = "Error: scene: Bar: emergency stop: the file '...stop' exists"
PAUSED = (
    "Error: scene: Bar: a period took 0... s (clock_jump = 0.25 s): the device process was "
    "paused, or the computer was asleep or overloaded"
)

FAULTS = [
    Fault(
        name="Ctrl-C",
        inject=to_scene(signal.SIGINT),
        sees="Stopped by Ctrl-C after ... steps. They are recorded in 'run.mcap'.",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        status=130,
    ),
    Fault(
        name="Ctrl-C twice",
        inject=twice,
        sees="Stopped by Ctrl-C...'run.mcap'.",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        status=130,
    ),
    Fault(
        name="SIGTERM of the scene",
        inject=to_scene(signal.SIGTERM),
        sees="Stopped by SIGTERM after ... steps. They are recorded in 'run.mcap'.",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        status=143,
    ),
    Fault(
        name="SIGHUP of the scene: its terminal is closed",
        inject=to_scene(signal.SIGHUP),
        sees="Stopped by SIGHUP after ... steps. They are recorded in 'run.mcap'.",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        status=129,
    ),
    Fault(
        name="SIGKILL of the scene",
        inject=to_scene(signal.SIGKILL),
        sees="softctl device process: the process of the scene ended without finishing the "
        "stream; robot 'Bar': HOLDING. ... robot 'Bar' RESTED",
        does="is held, goes to rest",
        end="rested",
        bound=TO_REST,
        status=-9,
        trial={"moment": 1.3},
    ),
    Fault(
        name="SIGKILL of the device process",
        inject=to_device(signal.SIGKILL),
        sees="Error: scene: Bar: the device process was killed by SIGKILL while the robot was "
        "STREAMING. The watchdog of board stops it ... s after the last command.",
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="SIGTERM of the device process",
        inject=to_device(signal.SIGTERM),
        sees="Error: scene: Bar: the device process got SIGTERM",
        does="goes to rest",
        end="rested",
        bound=TO_END,
    ),
    Fault(
        name="SIGTERM of both processes, as by a service manager",
        inject=to_both(signal.SIGTERM),
        sees="SIGTERM",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        status=(143, 1),  # whichever notices first
    ),
    Fault(
        name="SIGKILL of both processes",
        inject=to_both(signal.SIGKILL),
        sees="",
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
        status=-9,
        trial={"moment": 1.3},
    ),
    Fault(
        name="SIGKILL of the device process on the way to rest, after Ctrl-C",
        inject=kill_on_the_way,
        sees="Error: Bar: the device process was killed by SIGKILL while the robot was "
        "RETURNING. The watchdog of board stops it",
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="the plug is pulled on the way to rest, after Ctrl-C",
        inject=unplug_on_the_way,
        sees="Error: Bar: device 'board': ...port is gone: it was unplugged, or lost power. Plug"
        " it in and start again",
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="the scene's process is paused (SIGSTOP, Ctrl-Z) and goes on after 1.5 s",
        inject=pause_scene,
        sees="Error: scene: Bar: nothing came from the scene for 0.5 s (command_timeout): it "
        "hangs, was paused, or its steps take longer",
        does="is held, goes to rest",
        end="rested",
        bound=NO_SCENE,
    ),
    Fault(
        name="the device process is paused for 0.4 s: its clock jumps",
        inject=pause_device,
        sees=PAUSED,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="both are paused for 0.4 s, as by the lid of a laptop",
        inject=close_lid,
        sees=PAUSED,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="a second run on the same port",
        inject=second_host,
        sees="Error: scene: device 'board' (serial) is in use by process ..., robot 'Bar': another "
        "run moves it",
        does="goes on; the second run moves nothing",
        end="rested",
        status=143,
        trial={"duration": 60.0},
    ),
    Fault(
        name="the stop file appears",
        inject=stop_file,
        sees=STOPPED_FILE,
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
    ),
    Fault(
        name="`softctl bridge stop` from another terminal",
        inject=stop_command,
        sees=f"Emergency stop: ...stop is there. The robot stays where it is. ... {STOPPED_FILE}",
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
        trial={"duration": 5.0},  # the command must start before the scene ends
    ),
    Fault(
        name="SIGUSR1 of the device process",
        inject=to_device(signal.SIGUSR1),
        sees="Error: scene: Bar: emergency stop: signal SIGUSR1",
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
    ),
]
