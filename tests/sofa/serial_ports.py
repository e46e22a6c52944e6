"""A scene with a SerialPortBridgeGeneric on a pseudo terminal; it runs on both backends."""

import os
import select
import tty

from sofa_softctl import Session, Sofa

OPTIONS = (
    {"size": 3, "header": 255},
    {"size": 3},
    {"size": 3, "header": [7, 8], "redundancy": 3},
    {"size": 3, "precise": True},
    {"size": 3, "precise": True, "splitPacket": True},
    {"size": 3, "splitPacket": True},
    {"size": 3, "precise": True, "splitPacket": True, "header": 200},
    {"size": 3, "redundancy": 0},
    {"size": 3, "header": []},
    {"size": 3, "listening": False},
    {"size": 2},
    {},
    {"size": 3, "receive": True},
)
"""Data of the component, in each run."""


class Servos(Sofa.Core.Controller):
    """As in SoftRobots' tripod: angles of three servos, anew at the end of each step."""

    def __init__(self, *args, serial, values, **kwargs):
        super().__init__(*args, **kwargs)
        self.serial, self.values = serial, values

    def onAnimateEndEvent(self, event):
        self.serial.packetOut = self.values.pop(0)


def sent(values, options):
    """Bytes that arrive at the other end in each step, and the states and packetIn after it."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    found = []

    def create(root):
        root.addObject("RequiredPlugin", name="SoftRobots")
        root.addObject("DefaultAnimationLoop")
        serial = root.addObject(
            "SerialPortBridgeGeneric",
            name="serial",
            port=os.ttyname(slave),
            baudRate=115200,
            packetOut=[150, 150, 150],
            **{"listening": True, **options},
        )
        root.addObject(Servos(serial=serial, values=[list(entry) for entry in values]))

    with Session(create) as session:
        for number in range(len(values)):
            os.write(master, bytes([number, 99]))
            session.step()
            serial = session.root.serial
            state = str(serial.componentState.value)
            found.append([_arrived(master), state, [int(v) for v in serial.packetIn.value]])
    os.close(master)
    os.close(slave)
    return found


def _arrived(master):
    """All bytes, until none came for a while: a pseudo terminal passes them on a little later."""
    found = b""
    while select.select([master], [], [], 0.03)[0]:
        found += os.read(master, 4096)
    return list(found)
