"""Figures of docs/reference/bridge-devices.md: how often eight motors are commanded and read.

python -m tests.bridge.dynamixel_rate: the device, and reading as dynamixel_sdk does it, on an
emulated bus in a process of its own, where each byte takes its time at 1 Mbit/s.
"""

import multiprocessing
import time

import numpy as np

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.dynamixel.device import DynamixelDevice
from tests.bridge.dynamixel_bus import DynamixelBus, Motor

IDS = range(1, 9)


def serve(pipe):
    with DynamixelBus(*(Motor(number) for number in IDS)) as bus:
        pipe.send(bus.port)
        for number in iter(pipe.recv, None):
            pipe.send((bus.collisions, bus._decoder.rejected))
            bus.motors[number].silent = True


def as_fast_as_the_line(port, fast, seconds=3.0):
    """Write, read until the answers are complete, and again."""
    device = DynamixelDevice("arm", port=port, fast_read=fast)
    device.open([ChannelSetup(i, f"m{i}", 0.0, 4000.0, 1e4, 2048.0) for i in IDS])
    number, calls, values = 0, [], np.full(8, 2048.0)
    begin, cpu = time.monotonic(), time.thread_time()
    while time.monotonic() < begin + seconds:
        start = time.monotonic()
        device.write(Command(number, start, values))
        calls.append(time.monotonic() - start)
        while device.read() is None and time.monotonic() < start + 0.1:
            time.sleep(1e-4)
        number += 1
    spent, cpu = time.monotonic() - begin, time.thread_time() - cpu
    line = 1.0 / device.exchange_time()
    device.close()
    print(
        f"{'fast sync read' if fast else 'sync read'}: {number / spent:.0f} exchanges/s of "
        f"{line:.0f} that the line carries; write takes {1e3 * np.median(calls):.2f} ms "
        f"(median), {1e3 * np.percentile(calls, 99):.2f} ms (99 %); {1e3 * cpu / number:.2f} ms "
        "of processor time an exchange"
    )


def at_100_hz(port, seconds=5.0):
    device = DynamixelDevice("arm", port=port)
    device.open([ChannelSetup(i, f"m{i}", 0.0, 4000.0, 1e4, 2048.0) for i in IDS])
    calls, taken, start = [], 0, time.monotonic()
    for number in range(int(seconds * 100)):
        time.sleep(max(0.0, start + 0.01 * number - time.monotonic()))
        begin = time.monotonic()
        feedback = device.read()
        device.write(Command(number, begin, np.full(8, 2048.0 + number % 50)))
        calls.append(time.monotonic() - begin)
        taken += feedback is not None and feedback.acknowledged == number - 1
    device.close()
    print(
        f"at 100 Hz: {taken} of {number} commands acknowledged a period later; read and write take "
        f"{1e3 * np.median(calls):.2f} ms (median), {1e3 * np.percentile(calls, 99):.2f} ms (99 %)"
    )


def as_the_sdk_reads(port, silence, rounds=200):
    from dynamixel_sdk import GroupSyncRead, PacketHandler, PortHandler

    handler = PortHandler(port)
    handler.openPort()
    group = GroupSyncRead(handler, PacketHandler(2.0), 116, 20)
    for number in IDS:
        group.addParam(number)

    def durations(count):
        found = []
        for _ in range(count):
            begin = time.monotonic()
            group.txRxPacket()
            found.append(1e3 * (time.monotonic() - begin))
        return np.array(found)

    found = durations(rounds)
    print(f"dynamixel_sdk: GroupSyncRead.txRxPacket waits {np.median(found):.2f} ms", end="")
    silence()
    found = durations(20)
    print(f"; with one silent motor {np.median(found):.0f} ms")
    handler.closePort()


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(theirs,))
    process.start()
    port = ours.recv()
    as_fast_as_the_line(port, False)
    as_fast_as_the_line(port, True)
    at_100_hz(port)
    as_the_sdk_reads(port, lambda: ours.send(5))
    print("collisions, and packets that the motors rejected, before that:", *ours.recv())
    ours.send(None)
    process.join()
