"""An emulated node on a CAN bus of python-can; it packs and unpacks its frames by itself."""

import struct
import threading

import pytest

can = pytest.importorskip("can")


class CanNode:
    """Takes commands of `count` values from id 0x200 on, and answers from 0x280 on.

    Args:
        channel: Channel of the virtual bus.
        layout: Format of a frame without the number of the command, such as '<2h'.
        frames: How many frames it has.
        sequence: Whether frames end with the number of the command.
        latches: Whether a stop holds until it is made anew.
    """

    def __init__(self, channel, layout="<f", frames=2, sequence=False, latches=True):
        self.layout = struct.Struct(layout + ("H" if sequence else ""))
        self.frames, self.latches = frames, latches
        self.received, self.values, self.stops = [], {}, 0
        self.silent = False
        self.bus = can.Bus(interface="virtual", channel=channel, ignore_config=True)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._end.is_set():
            message = self.bus.recv(timeout=0.005)
            if message is not None:
                self._take(message)

    def _take(self, message):
        self.received.append(message)
        frame = message.arbitration_id - 0x200
        if message.arbitration_id == 0x080:
            self.stops += 1
        elif 0 <= frame < self.frames and len(message.data) == self.layout.size:
            if not (self.stops and self.latches):
                self.values[frame] = self.layout.unpack(message.data)
            if not self.silent:
                self.say(0x280 + frame, self.layout.pack(*self.values[frame]))

    def say(self, identifier, data, **options):
        self.bus.send(
            can.Message(arbitration_id=identifier, data=data, is_extended_id=False, **options)
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()
        self.bus.shutdown()
