"""Faults of the line, and of what is at its other end."""

from tests.bridge.faults import robot
from tests.bridge.faults.fault import AT_ONCE, NO_ANSWER, WATCHDOG, Fault


def set_line(**values):
    """A fault that makes a relay or a program bad from now on."""

    def inject(trial):
        for name, value in values.items():
            setattr(trial.board, name, value)

    return inject


def call(name):
    """A fault that is a method of the board."""
    return lambda trial: getattr(trial.board, name)()


def replug(trial):
    """Plug the board in while the run that lost it ends."""
    trial.board.unplug()
    trial.sleep(0.05)
    trial.board.plug()


def run_again(trial):
    """After it, a new run works."""
    status, words = trial.run_to_end("again")
    assert status == 0, words
    assert trial.record("again").complete


def stays_off(trial):
    """A board that lost its power has no outputs until it is armed again."""
    if hasattr(trial.board, "pulses"):
        for channel in robot.CHANNELS:
            starts, _ = trial.board.pulses(channel)
            assert starts.max() < trial.moment + 0.05


GONE = (
    "Error: scene: Bar: device 'board': ...port is gone: it was unplugged, or lost power. Plug "
    "it in and start again"
)
SILENT = (
    "Error: scene: Bar: device 'board' has acknowledged no command for 0.2... s "
    "(feedback_timeout = 0.25 s). Check its cable and its supply"
)
DROPPED = (
    "Error: scene: Bar: device 'board' has acknowledged no command for 0.2... s "
    "(feedback_timeout = 0.25 s). Messages did arrive from it, but ... of them were dropped: ... "
    "with a wrong checksum or length"
)
DAMAGED = (
    "device 'board': ... messages on its line were dropped: damaged, late or repeated. Look at "
    "its cable or network."
)
WAS_RESET = (
    "Error: scene: Bar: device 'board' at ...port was reset or lost its power while it was running"
)

FAULTS = [
    Fault(
        name="the plug is pulled",
        inject=call("unplug"),
        sees=GONE,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
    ),
    Fault(
        name="the plug is pulled and put in again, then a new run",
        inject=replug,
        sees=GONE,
        does="stops where it is; the new run begins there, slowly",
        end="stopped",
        bound=WATCHDOG,
        after=run_again,
    ),
    Fault(
        name="now and then 8 bytes of noise from the board",
        inject=set_line(noise=[(0, 0.0), (8, 0.02)]),
        sees=DAMAGED,
        does="goes on; damaged messages are dropped",
        end="done",
        relay=True,
        status=0,
    ),
    Fault(
        name="now and then 8 bytes of noise to the board",
        inject=set_line(noise=[(8, 0.02), (0, 0.0)]),
        sees=DAMAGED,
        does="goes on; damaged messages are dropped",
        end="done",
        relay=True,
        status=0,
    ),
    Fault(
        name="nothing but noise from the board",
        inject=set_line(noise=[(0, 0.0), (20, 0.5)], cut=[False, True]),
        sees=DROPPED,
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        relay=True,
    ),
    Fault(
        name="nothing but noise to the board",
        inject=set_line(noise=[(20, 0.5), (0, 0.0)], cut=[True, False]),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
        relay=True,
    ),
    Fault(
        name="bits flip in one byte of 300, both ways",
        inject=set_line(flips=[0.003, 0.003]),
        sees=DAMAGED,
        does="goes on; damaged messages are dropped",
        end="done",
        relay=True,
        status=0,
    ),
    Fault(
        name="bits flip in one byte of 10, both ways",
        inject=set_line(flips=[0.1, 0.1]),
        sees=DROPPED,
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        relay=True,
    ),
    Fault(
        name="the board takes commands and answers none",
        inject=set_line(cut=[False, True]),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        relay=True,
    ),
    Fault(
        name="the board gets no command any more, but answers",
        inject=set_line(cut=[True, False]),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
        relay=True,
    ),
    Fault(
        name="the processor of the board stands still",
        inject=call("pause"),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
    ),
    Fault(
        name="the board answers 150 ms late",
        inject=set_line(delay=[0.0, 0.15]),
        sees="from the wire to the acknowledgement ... 1... ",
        does="goes on",
        end="done",
        relay=True,
        status=0,
    ),
    Fault(
        name="the board answers 400 ms late",
        inject=set_line(delay=[0.0, 0.4]),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        relay=True,
    ),
    Fault(
        name="commands arrive 400 ms late",
        inject=set_line(delay=[0.4, 0.0]),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
        relay=True,
    ),
    Fault(
        name="the line takes no bytes any more",
        inject=set_line(deaf=True),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=WATCHDOG,
        relay=True,
    ),
    Fault(
        name="the board's power is switched off and on",
        inject=call("reset"),
        sees=WAS_RESET,
        does="outputs go off, and stay so",
        end="stopped",
        after=stays_off,
        bound=AT_ONCE,
    ),
    Fault(
        name="the main loop of the firmware hangs",
        inject=call("hang"),
        sees="Error: scene: Bar: device 'board' stopped: it stopped by a fault of its own",
        does="outputs go off, by the watchdog of the processor",
        end="stopped",
        bound=AT_ONCE,
        board="real",
    ),
    Fault(
        name="the emergency input of the board is pressed",
        inject=call("press"),
        sees="Error: scene: Bar: device 'board' stopped: its emergency input was pressed",
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
    ),
    Fault(
        name="the board stops by a fault of its own",
        inject=lambda trial: trial.board.board.fail(),
        sees="Error: scene: Bar: device 'board' stopped: it stopped by a fault of its own",
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
        board="emulated",
    ),
    Fault(
        name="firmware with another version of the protocol",
        inject=None,
        sees="Error: scene: device 'board' at ...port speaks version 2 of the protocol, this "
        "program version 1: load the firmware that belongs to this program "
        "(hardware/firmware).",
        does="nothing moves",
        end="refused",
        board="emulated",
        board_options={"version": 2},
    ),
    Fault(
        name="firmware of something else, which sends text",
        inject=None,
        sees="Error: scene: device 'board' at ... sends text, 'ok\\r\\n...', no frames: it has "
        "other firmware. Load one that speaks the protocol (hardware/firmware).",
        does="nothing moves",
        end="refused",
        board="text",
    ),
    Fault(
        name="UDP: datagrams overtake each other, come twice or never",
        inject=set_line(bad=True),
        sees=DAMAGED,
        does="goes on; the program takes none that is older than one before",
        end="done",
        board="udp",
        status=0,
    ),
    Fault(
        name="UDP: datagrams are 400 ms late",
        inject=set_line(delay=0.4),
        sees=SILENT,
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        board="udp",
    ),
    Fault(
        name="a write to the device does not return",
        inject=None,
        sees="Error: scene: Bar: device 'board': write() did not return within 0.25 s",
        does="stops where it is",
        end="stopped",
        bound=NO_ANSWER,
        board="block",
    ),
    Fault(
        name="each write to the device takes 7 of 10 ms",
        inject=None,
        sees="device 'board' is slow: ... of its calls took longer than half a period",
        does="goes on",
        end="done",
        board="slow",
        status=0,
    ),
    Fault(
        name="the device's code has a bug",
        inject=None,
        sees="Error: scene: Bar: device 'board': write() raised KeyError: 'oops'",
        does="stops where it is",
        end="stopped",
        bound=AT_ONCE,
        board="bug",
    ),
]
