"""The contract test of devices, for those whose own tests do not call it."""

import os
import threading
import tty

import pytest

from sofa_softctl.bridge import registry
from sofa_softctl.bridge.device import ChannelSetup
from sofa_softctl.bridge.devices.loopback import LoopbackDevice
from sofa_softctl.testing import check_device

BY_THEIR_OWN_TESTS = {"can", "dynamixel", "ros2", "rosbridge"}
SERVOS = [ChannelSetup(number, f"servo_{number}", 600.0, 2400.0, 2e3, 1500.0) for number in (0, 2)]
BYTES = [ChannelSetup(number, f"byte_{number}", 0.0, 180.0, 500.0, 90.0) for number in (0, 1)]


def check_loopback():
    check_device(LoopbackDevice)


def check_serial():
    pytest.importorskip("serial")
    from tests.bridge.board import Board

    with Board(channels=4) as board:
        check_device(registry.find("serial"), SERVOS, port=board.port)


def check_softrobots():
    """Bytes that somebody reads; firmware of SoftRobots says nothing."""
    pytest.importorskip("serial")
    master, other = os.openpty()
    tty.setraw(other)

    def read():
        while not os.read(master, 999).endswith(b"!"):
            pass

    reader = threading.Thread(target=read)
    reader.start()
    check_device(registry.find("softrobots"), BYTES, port=os.ttyname(other), settle=0.0)
    os.write(other, b"!")
    reader.join()
    os.close(master)
    os.close(other)


def check_udp():
    from tests.bridge.peer import Peer

    with Peer() as peer:
        check_device(registry.find("udp"), **peer.options)


def check_zeromq():
    pytest.importorskip("zmq")
    from tests.bridge.peer import ZeroMqPeer

    with ZeroMqPeer() as peer:
        check_device(registry.find("zeromq"), **peer.options)


CHECKS = {name[6:]: check for name, check in list(globals().items()) if name.startswith("check_")}
del CHECKS["device"]


@pytest.mark.real_time(keep=1)
@pytest.mark.parametrize("name", sorted(set(registry.DEVICES.names()) - BY_THEIR_OWN_TESTS))
def test_every_device_passes_the_contract_test(name):
    CHECKS[name]()
