"""The page docs/reference/bridge-faults.md: a table of all faults, with what was measured."""

from pathlib import Path

from tests.bridge.faults import robot
from tests.bridge.faults.boards import WATCHDOG
from tests.bridge.faults.run import SECTIONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "bridge-faults.md"
HEAD = f"""\
# Faults of the bridge, and what comes of them

Each row is a fault that is put into the whole chain, and a test: a scene in `softctl run --bridge`,
its device process, the [serial protocol](bridge-protocol.md), a board. Both processes are real, and
so are the signals that end them. The board is the firmware of `hardware/firmware/` for the
ATmega328P, which runs in simavr with its serial line on a pseudo terminal; where the last column
says so it is a program of the tests instead. What a fault does to the line is done by a program
between the two.

A recorder on the board's side of the wire has every byte, and every edge on the pins, in the
processor's own time. In each run:

- no command was out of range, faster or more sudden than the robot may move, or for a channel that
  it does not use; no pulse on a pin was out of range or faster, or on a pin of another channel;
- the board stopped by itself at most {1e3 * WATCHDOG:.0f} ms after the last command that it got,
  if no command to stop came;
- the user read the words of the second column ("…" stands for what varies), and the exit status was
  that of an error, or of the signal;
- the recording can be read, and what it says was sent is what was on the wire.

**Times** are from the fault to the last change of an output, the worst of RUNS runs on a computer
with two cores and without real-time priority; of watchdogs, from the last command to the moment
when the board disarms itself. **Bounds** follow from the robot's file: `hold = {robot.HOLD}` s,
`command_timeout = {robot.COMMAND_TIMEOUT}` s, `feedback_timeout = {robot.FEEDBACK_TIMEOUT}` s,
{1e3 * robot.PERIOD:.0f} ms a period, and {robot.FARTHEST:g} mm to rest at {robot.RATE:g} mm/s and
{robot.ACCELERATION:g} mm/s2; the scene moves at {robot.SPEED:g} mm/s. A device process that comes
too late for its next period is stopped by the watchdog: therefore each bound contains it.

`python -m tests.bridge.faults` runs them all and writes this page.
"""
COLUMNS = "| fault | the user reads | the robot | standstill [ms] | bound [ms] | shown on |\n"


def row(fault, measured):
    """Cells of a fault: text, without the bars between them.

    Args:
        fault: The fault.
        measured: Worst time to standstill [s]; None: it has none.
    """
    sees = f"`{fault.sees.replace('...', '…').strip()}`" if fault.sees else ""
    bound = "" if fault.bound is None else f"{1e3 * fault.bound.seconds:.0f}: {fault.bound.words}"
    time = "" if measured is None else f"{1e3 * measured:.0f}"
    return [fault.name, sees, fault.does, time, bound, fault.where]


def write(measured, runs):
    """Write the page; see `text_of`."""
    PAGE.write_text(text_of(measured, runs))


def text_of(measured, runs):
    """The whole page.

    Args:
        measured: Worst time of each fault, by its name.
        runs: How often each was run.
    """
    text = HEAD.replace("RUNS", f"{runs}")
    for title, faults in SECTIONS.items():
        lines = [f"| {' | '.join(row(fault, measured[fault.name]))} |\n" for fault in faults]
        text += f"\n## {title}\n\n{COLUMNS}|---|---|---|---|---|---|\n{''.join(lines)}"
    return text


def rows():
    """Cells of all rows of the page, by the name of the fault."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {cell[0]: cell for cell in cells if f"| {' | '.join(cell)} |\n" != COLUMNS}
