"""Emulated Dynamixel motors on a pseudo terminal.

Written from the e-Manual (emanual.robotis.com/docs/en/dxl/protocol2 and the page of XL330-M288-T),
without the code of the driver or of dynamixel_sdk: CRC from its polynomial, stuffing, packets,
control table, bus watchdog. Bytes take their time on the line.
"""

import heapq
import os
import select
import struct
import termios
import threading
import time
import tty

RATES = {getattr(termios, f"B{rate}"): rate for rate in (57600, 115200, 1000000, 2000000, 4000000)}


def crc(data):
    """CRC-16, polynomial 0x8005, from 0, most significant bit first."""
    register = 0
    for byte in data:
        register ^= byte << 8
        for _ in range(8):
            register = (register << 1) ^ (0x8005 if register & 0x8000 else 0)
        register &= 0xFFFF
    return register


def packet(motor, instruction, parameters=b""):
    """A packet with stuffing and CRC."""
    body = (bytes([instruction]) + parameters).replace(b"\xff\xff\xfd", b"\xff\xff\xfd\xfd")
    head = b"\xff\xff\xfd\x00" + struct.pack("<BH", motor, len(body) + 2)
    return head + body + struct.pack("<H", crc(head + body))


class Decoder:
    """Splits a stream of bytes into (id, instruction, parameters)."""

    def __init__(self):
        self.buffer, self.rejected = bytearray(), 0

    def feed(self, data):
        self.buffer += data
        while True:
            start = self.buffer.find(b"\xff\xff\xfd\x00")
            if start < 0:
                del self.buffer[:-3]
                return
            del self.buffer[:start]
            if len(self.buffer) < 7:
                return
            motor, length = struct.unpack_from("<BH", self.buffer, 4)
            if len(self.buffer) < 7 + length:
                return
            whole = bytes(self.buffer[: 7 + length])
            if crc(whole[:-2]) != int.from_bytes(whole[-2:], "little"):
                self.rejected += 1
                del self.buffer[:3]
                continue
            del self.buffer[: 7 + length]
            body = whole[7:-2].replace(b"\xff\xff\xfd\xfd", b"\xff\xff\xfd")
            yield motor, body[0], body[1:]


class Motor:
    """One motor: its control table, and how its shaft moves."""

    def __init__(self, number, position=2048, model=1200, firmware=46):
        self.number, self.position, self.stopped_by_watchdog = number, float(position), False
        self.table = bytearray(256)
        for address, value, size in (
            (0, model, 2),
            (6, firmware, 1),
            (7, number, 1),
            (9, 250, 1),
            (11, 3, 1),
            (44, 445, 4),
            (48, 4095, 4),
            (68, 2, 1),
        ):
            self.put(address, value, size)
        self.heard = self.moved_at = time.monotonic()
        self.heard_at = self.position
        self.speed_max, self.current = 7000.0, 0
        self.stuck = self.silent = False
        self.jumps = 0.0

    def get(self, address, size=1, signed=False):
        return int.from_bytes(self.table[address : address + size], "little", signed=signed)

    def put(self, address, value, size=1):
        self.table[address : address + size] = value.to_bytes(size, "little", signed=value < 0)

    def advance(self, now):
        """Move until now, and look at the bus watchdog."""
        watchdog = self.get(98)
        limit = self.heard + watchdog * 0.02
        until = now
        if self.get(64) and 1 <= watchdog <= 127 and now > limit:
            until = max(limit, self.moved_at)
        dt, self.moved_at = max(0.0, until - self.moved_at), now
        goal = self.get(116, 4, True)
        speed = self.get(112, 4) * 0.229 * 4096 / 60 or self.speed_max
        if self.get(64) and watchdog != 255 and not self.stuck:
            way = goal - self.position
            self.position += max(-speed * dt, min(speed * dt, way))
        if until < now:
            self.put(98, 255)
        self.put(120, int(now * 1000) % 32768, 2)
        self.put(126, self.current, 2)
        self.put(132, round(self.position), 4)

    def write(self, address, data):
        """Error number of writing data; 0: written."""
        if address < 64 and self.get(64):
            return 7
        end = address + len(data)
        if address <= 100 < end or 100 < address < 120:
            if self.get(98) == 255:
                return 4
        if address == 116:
            goal = int.from_bytes(data, "little", signed=True)
            if self.get(11) == 3 and not self.get(52, 4) <= goal <= self.get(48, 4):
                return 6
            if self.get(10) & 8:
                self.put(64, 1)
        if address == 64 and data[0] and self.get(70):
            return 0  # after a shutdown only a reboot brings the torque back
        if address == 11 and data[0] != self.get(11):
            self.put(112, 0, 4)
            self.put(108, 0, 4)
        if address == 98 and data[0] > 127:
            return 4
        self.table[address:end] = data
        return 0

    def shut_down(self, bits):
        self.put(70, bits)
        self.put(64, 0)


class DynamixelBus:
    """Motors on a line: a context manager; `port` is where a driver connects.

    Args:
        motors: The motors.
        baud_rate: Rate at which all of them listen and speak [bit/s].
    """

    def __init__(self, *motors, baud_rate=1_000_000, echo=False):
        self.motors = {motor.number: motor for motor in motors}
        self.baud_rate, self.echo = baud_rate, echo
        self.line, self._other = os.openpty()
        tty.setraw(self._other)
        self.port = os.ttyname(self._other)
        self.received, self.collisions = [], 0
        self.latency = 0.0  # of the adapter, for what motors say [s]
        self.drop = lambda instruction, parameters: False
        self.spoil = lambda data: data
        self._free = self._answering = 0.0
        self._queue, self._count = [], 0
        self._decoder = Decoder()
        self._wake, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            now = time.monotonic()
            while self._queue and self._queue[0][0] <= now:
                os.write(self.line, heapq.heappop(self._queue)[2])
            wait = min(0.005, max(0.0, self._queue[0][0] - now)) if self._queue else 0.005
            ready, _, _ = select.select([self.line, self._wake], [], [], wait)
            now = time.monotonic()
            if self._wake in ready:
                return
            if self.line in ready:
                self._hear(os.read(self.line, 4096), now)
            for motor in self.motors.values():
                motor.advance(now)

    def _hear(self, data, now):
        if RATES.get(termios.tcgetattr(self.line)[5]) != self.baud_rate:
            return  # another rate: noise to the motors
        if now < self._answering:
            self.collisions += 1
        self._free = max(now, self._free)
        if self.echo:
            self._say(data, 0.0)
        else:
            self._free += 10.0 * len(data) / self.baud_rate
        for motor, instruction, parameters in self._decoder.feed(data):
            self.received.append((now, motor, instruction, parameters))
            for each in self.motors.values():
                each.advance(now)
                each.heard, each.heard_at = now, each.position
            if not self.drop(instruction, parameters):
                self._obey(motor, instruction, parameters)

    def _say(self, data, delay):
        """Bytes that are on the line after a delay, and arrive when the last one is through."""
        self._free += delay + 10.0 * len(data) / self.baud_rate
        self._answering = self._free
        self._count += 1
        due = self._free + self.latency
        heapq.heappush(self._queue, (due, self._count, self.spoil(data)))

    def _answer(self, motor, error=0, data=b"", instruction=0x03):
        level = motor.get(68)
        if motor.silent or (level < 2 and instruction == 0x03) or (level < 1 and instruction != 1):
            return False
        error |= 0x80 if motor.get(70) else 0
        self._say(packet(motor.number, 0x55, bytes([error]) + data), motor.get(9) * 2e-6)
        return True

    def _obey(self, number, instruction, parameters):
        asked = [m for m in self.motors.values() if number in (m.number, 254)]
        if instruction == 0x01:
            for motor in asked:
                self._answer(motor, 0, bytes(motor.table[0:2] + motor.table[6:7]), 1)
        elif instruction == 0x02:
            address, size = struct.unpack("<HH", parameters)
            for motor in asked:
                self._answer(motor, 0, bytes(motor.table[address : address + size]), 2)
        elif instruction == 0x03:
            for motor in asked:
                error = motor.write(int.from_bytes(parameters[:2], "little"), parameters[2:])
                self._answer(motor, error)
        elif instruction == 0x83:
            address, size = struct.unpack_from("<HH", parameters)
            for start in range(4, len(parameters), size + 1):
                motor = self.motors.get(parameters[start])
                if motor and not motor.silent:
                    motor.write(address, parameters[start + 1 : start + 1 + size])
        elif instruction in (0x82, 0x8A):
            address, size = struct.unpack_from("<HH", parameters)
            motors = [self.motors.get(i) for i in parameters[4:]]
            if instruction == 0x8A:
                self._answer_fast(motors, address, size)
                return
            for motor in motors:  # each waits for the one before it
                if motor is None or not self._answer(
                    motor, 0, bytes(motor.table[address : address + size]), 2
                ):
                    return

    def _answer_fast(self, motors, address, size):
        if any(motor is None or motor.silent for motor in motors):
            return
        data = [bytes(m.table[address : address + size]) for m in motors]
        errors = [0x80 if m.get(70) else 0 for m in motors]
        ids = [m.number for m in motors]
        self._say(fast_status(ids, errors, data), motors[0].get(9) * 2e-6)

    def written_to(self, instruction=0x83):
        """Addresses of sync writes, in order."""
        return [
            int.from_bytes(parameters[:2], "little")
            for _, _, number, parameters in self.received
            if number == instruction
        ]

    def written(self, address, instruction=0x83):
        """Values of sync writes to an address: [(time, {id: bytes}), ...]."""
        found = []
        for when, _, number, parameters in self.received:
            if number == instruction and int.from_bytes(parameters[:2], "little") == address:
                size = int.from_bytes(parameters[2:4], "little")
                values = {
                    parameters[i]: parameters[i + 1 : i + 1 + size]
                    for i in range(4, len(parameters), size + 1)
                }
                found.append((when, values))
        return found

    def unplug(self):
        """Close the motors' side: the adapter is gone."""
        os.write(self._end, b"x")
        self._thread.join()
        os.close(self.line)
        self.line = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.line >= 0:
            self.unplug()
        for file in (self._other, self._wake, self._end):
            os.close(file)


def fast_status(ids, errors, data):
    """The one packet with which all motors answer; no stuffing, a CRC after each part."""
    size = len(data[0])
    found = b"\xff\xff\xfd\x00" + struct.pack("<BHB", 254, 1 + len(ids) * (size + 4), 0x55)
    for number, error, part in zip(ids, errors, data, strict=True):
        found += bytes([error, number]) + part
        found += struct.pack("<H", crc(found))
    return found
