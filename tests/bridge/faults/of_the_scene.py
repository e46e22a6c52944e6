"""Faults of the scene, of its controller, of the disk, and of the robot's file."""

import time

from tests.bridge.faults.fault import NO_SCENE, TO_END, TO_REST, Fault


def edit(trial):
    """Give the file wider limits."""
    text = trial.config.read_text()
    wider = text.replace("rate = 60.0", "rate = 600.0").replace("[-5.0, 25.0]", "[-50.0, 250.0]")
    assert wider != text
    trial.config.write_text(wider)


def delete(trial):
    trial.config.unlink()


def wait_until_full(trial):
    """The moment of the fault is when the last byte was written."""
    trial.until(trial.host.ended)
    written = (trial.folder / "run.mcap.part").stat().st_mtime
    trial.moment = written - time.time() + time.monotonic()


def wrong(name, sees):
    """A target that is never sent."""
    return Fault(
        name=f"the controller asks for {name}",
        inject=None,
        sees=f"Error: scene: Bar: the target of 'cable_0' {sees}, at ... s of the scene",
        does="is held, goes to rest",
        end="rested",
        bound=TO_REST,
        trial={"scene": name},
    )


AT_REST = "At the end: The robot is in its rest pose, and its devices are stopped."

FAULTS = [
    wrong("NaN", "is nan"),
    wrong("inf", "is inf"),
    wrong("over-range", "is 26 mm, above the greatest position, 25"),
    wrong("jump", "jumps from ... to 9 mm, by more than jump = 3"),
    Fault(
        name="the controller asks for a step that is less than `jump`, and back",
        inject=None,
        sees=AT_REST,
        does="goes on; goes there no faster than it may",
        end="done",
        status=0,
        trial={"scene": "step"},
    ),
    Fault(
        name="the controller raises an error",
        inject=None,
        sees="RuntimeError: the goal is lost ... The recording of the ... steps before is kept: "
        "'run.mcap'.",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        trial={"scene": "raises"},
    ),
    Fault(
        name="a step of the scene takes 2 s",
        inject=None,
        sees="Error: scene: Bar: nothing came from the scene for 0.5 s (command_timeout): it "
        "hangs, was paused, or its steps take longer",
        does="is held, goes to rest",
        end="rested",
        bound=NO_SCENE,
        trial={"scene": "stalls"},
    ),
    Fault(
        name='the scene becomes slower than real time, with `slow_scene = "refuse"`',
        inject=None,
        sees="Error: scene: Bar: the scene fell behind real time by more than a step, 0.01 s, "
        'and slow_scene = "refuse"',
        does="is held, goes to rest",
        end="rested",
        bound=TO_REST,
        trial={"scene": "slow", "slow": 'slow_scene = "refuse"'},
    ),
    Fault(
        name='the same, with `slow_scene = "wait"`',
        inject=None,
        sees="the robot waited for the scene in ... of ... steps",
        does="goes on, as slowly as the scene",
        end="done",
        status=0,
        trial={"scene": "slow"},
    ),
    Fault(
        name="the disk is full while recording",
        inject=wait_until_full,
        sees="Error: Cannot write 'run.mcap' any more: File too large. The first ... steps are "
        "safe in 'run.mcap.part'",
        does="goes to rest",
        end="rested",
        bound=TO_END,
        trial={"file_size": 100_000, "duration": 9.0},
    ),
    Fault(
        name="the robot's file is edited while it moves",
        inject=edit,
        sees=AT_REST,
        does="goes on, with the limits that it began with",
        end="done",
        status=0,
    ),
    Fault(
        name="the robot's file is deleted while it moves",
        inject=delete,
        sees=AT_REST,
        does="goes on, with the limits that it began with",
        end="done",
        status=0,
    ),
]
