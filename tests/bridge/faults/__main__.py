"""Runs all faults and writes docs/reference/bridge-faults.md: `python -m tests.bridge.faults`.

`--only WORD` runs those with the word in their name, and writes nothing.
"""

import argparse
import sys
import tempfile

from tests.bridge.faults.host import Server
from tests.bridge.faults.page import write
from tests.bridge.faults.run import FAULTS, built, run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each fault")
    parser.add_argument("--only", default="", help="a word")
    options = parser.parse_args()
    chosen = [fault for name, fault in FAULTS.items() if options.only in name]
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        firmware, reason = built(folder)
        if firmware is None:
            sys.exit(f"The page is about the real firmware, which cannot be built here: {reason}.")
        with Server(folder) as server:
            for fault in chosen:
                times = [run(fault, server, firmware) for _ in range(options.runs)]
                measured[fault.name] = None if fault.bound is None else max(times)
                shown = [None if time is None else round(1e3 * float(time), 1) for time in times]
                print(f"{fault.name}: {shown} ms", flush=True)
    late = [f.name for f in chosen if f.bound and measured[f.name] > f.bound.seconds]
    if late:
        sys.exit(f"Later than the bound: {', '.join(late)}. Is this computer busy?")
    if not options.only:
        write(measured, options.runs)


if __name__ == "__main__":
    main()
