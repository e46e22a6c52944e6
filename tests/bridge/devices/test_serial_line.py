"""Boards on a serial line: a real pseudo terminal, and an emulated board with faults."""

import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sofa_softctl.bridge.device import ChannelSetup, Command
from sofa_softctl.bridge.devices.serial_line import SerialDevice
from sofa_softctl.bridge.protocol.messages import ARMED, Report
from sofa_softctl.errors import DeviceFailedError, DeviceOpenError, DeviceTimeoutError
from tests.bridge.board import Board, frame

ROOT = Path(__file__).parents[3]


def channel(number=0, low=600.0, high=2400.0, rate=math.inf, rest=1500.0):
    return ChannelSetup(number, f"servo_{number}", low, high, rate, rest)


@pytest.fixture
def board():
    with Board(channels=4) as found:
        yield found


@pytest.fixture
def opened(board):
    """A device on the board, with two channels."""
    device = SerialDevice("board", port=board.port)
    device.open([channel(0), channel(2)])
    board.watchdog = 2.0  # so that a busy computer does not spoil a test
    yield device
    device.close()


def send(device, sequence, *values):
    device.write(Command(sequence, time.monotonic(), np.array(values, float)))


def stream(device, sequences, *values):
    """Write at 100 Hz and read, until the last is acknowledged, mostly; returns all feedback."""
    found = []
    for sequence in sequences:
        send(device, sequence, *values)
        time.sleep(0.01)
        found.append(device.read())
    end = time.monotonic() + 0.2
    while time.monotonic() < end and (found[-1] is None or found[-1].acknowledged != sequence):
        time.sleep(0.002)
        found.append(device.read() or found[-1])
    return [feedback for feedback in found if feedback is not None]


def keep_reading(device, within=3.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        device.read()
        time.sleep(0.005)


# -- what it does -------------------------------------------------------------------------


def test_a_board_says_what_it_is(board):
    device = SerialDevice("board", port=board.port)
    found = device.open([channel()])
    device.close()
    assert "emulated, firmware 1.0" in found.description and board.port in found.description
    assert (found.unit, found.resolution, found.range) == ("us", 1.0, (500.0, 2500.0))
    assert found.watchdog == pytest.approx(0.1)
    assert found.acknowledges and found.moves and not found.measures
    assert len(found.notes) == 1 and "as hobby servos do not" in found.notes[0]
    assert found.rate_max == 200.0


def test_a_slow_line_limits_the_rate_of_commands(board):
    device = SerialDevice("board", port=board.port, baud_rate=9600)
    found = device.open([channel()])
    device.close()
    frame_length = len(frame(bytes(18 + 4 * 4 + 2 * 2)))  # FEEDBACK is the longer one
    assert found.rate_max == pytest.approx(960.0 / frame_length, rel=0.05)


def test_nothing_moves_before_the_first_command(board, opened):
    keep_reading(opened, 0.3)
    assert board.output == [None] * 4 and not board.taken and not board.stops
    assert opened.read() is None or opened.read() is None


def test_commands_arrive_and_are_acknowledged(board, opened, eventually):
    found = stream(opened, range(40), 1000.0, 2000.4)
    assert [entry[1] for entry in board.taken] == list(range(40))
    assert all(entry[2] == {0: 1000, 2: 2000} for entry in board.taken)
    assert found[-1].acknowledged == 39
    assert found[-1].positions == {0: 1000.0, 2: 2000.0}
    assert not any(feedback.stopped for feedback in found)
    times = [feedback.device_time for feedback in found]
    assert times == sorted(times) and 0.1 < times[-1] - times[0] < 4.0


def test_the_time_of_a_command_is_on_the_wire_in_microseconds(board, opened, eventually):
    when = time.monotonic() + 5000.0  # beyond 2^32 us, about 4295 s
    opened.write(Command(0, when, np.array([1000.0, 1000.0])))
    eventually(lambda: board.taken)
    assert board.taken[0][3] == int(when * 1e6) % 2**32


def test_sequences_go_on_beyond_16_bits(board, opened):
    found = stream(opened, range(65_530, 65_550), 1000.0, 1000.0)
    assert [entry[1] for entry in board.taken] == [i % 65_536 for i in range(65_530, 65_550)]
    assert found[-1].acknowledged == 65_549


def test_inputs_are_signals(board, opened, eventually):
    board.inputs = [100, 65535]
    assert opened.read().signals["input0"] == 0.0  # as it was when it was opened
    feedback = eventually(opened.read)
    assert feedback.signals["input0"] == 100.0 and feedback.signals["input1"] == 65535.0
    assert feedback.positions == {}  # off: no command has switched them on
    assert feedback.acknowledged is None


def test_limits_and_rates_are_those_of_the_board_too(board, eventually):
    """Limits rounded inwards, so that no rounding passes them; the rest value lies within."""
    device = SerialDevice("board", port=board.port)
    device.open([channel(0, 999.4, 2000.6, rate=0.3, rest=999.4), channel(1, rate=2.0**40)])
    assert board._limits == {0: (1000, 2000, 1000, 1), 1: (600, 2400, 1500, 0)}
    stream(device, range(2), 999.4, 2400.0)
    stream(device, range(2, 4), 2000.6, 600.0)
    device.close()
    assert [entry[2] for entry in board.taken[1:3]] == [{0: 1000, 1: 2400}, {0: 2000, 1: 600}]
    assert not board.refused_commands


def test_a_board_without_actuators_is_read(board, eventually):
    board.inputs = [7, 8]
    device = SerialDevice("board", port=board.port)
    device.open([])
    assert eventually(device.read).signals["input1"] == 8.0
    device.write(Command(0, 0.0, np.empty(0)))
    device.stop()
    device.close()
    assert not board.taken


def test_stop_ends_motion_and_latches(board, opened, eventually):
    stream(opened, range(5), 1000.0, 1000.0)
    opened.stop()
    assert board.stops[-1][1] == "STOP"
    stream(opened, range(5, 8), 2000.0, 2000.0)
    assert board.output[0] == 1000 and len(board.taken) == 5
    opened.stop()


def test_after_a_stop_nothing_is_armed(board, opened):
    opened.stop()
    stream(opened, range(5), 1000.0, 1000.0)
    assert not board.taken and board.output == [None] * 4


def test_a_closed_device_can_be_opened_again(board):
    device = SerialDevice("board", port=board.port)
    for _ in range(3):
        device.open([channel()])
        assert len(stream(device, range(5), 1200.0)) > 0
        device.stop()
        device.close()
        device.close()
    assert len(board.taken) == 15


def test_a_board_that_stopped_before_is_used_again(board, opened, eventually):
    stream(opened, range(3), 1000.0, 1000.0)
    board.watchdog = 0.05
    eventually(lambda: board.stops and board.stops[-1][1] == "watchdog")
    opened.close()
    board.watchdog = 2.0
    opened.open([channel(0), channel(2)])
    assert stream(opened, range(5), 1000.0, 1000.0)[-1].stopped == ""


# -- what goes wrong before anything moves ------------------------------------------------


def test_a_missing_port_lists_those_that_there_are():
    with pytest.raises(DeviceOpenError, match=r"there is no port /dev/ttyNO0\. .*computer"):
        SerialDevice("board", port="/dev/ttyNO0").open([])
    with pytest.raises(DeviceOpenError, match="no port is given"):
        SerialDevice("board", port="").open([])


def test_a_file_is_no_port(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceOpenError, match="is not a serial port"):
        SerialDevice("board", port=str(tmp_path / "file")).open([])
    with pytest.raises(DeviceOpenError, match="is not a serial port"):
        SerialDevice("board", port=str(tmp_path)).open([])


def test_two_hosts_on_one_port(board, opened):
    """A second device, and a program of its own: both are refused, the first goes on."""
    with pytest.raises(DeviceOpenError, match=r"in use by another program: only one .*fuser"):
        SerialDevice("other", port=board.port).open([channel()])
    code = (
        "from sofa_softctl.bridge.devices.serial_line import SerialDevice\n"
        "from sofa_softctl.errors import DeviceOpenError\n"
        f"try: SerialDevice('other', port={board.port!r}).open([])\n"
        "except DeviceOpenError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "in use by another program" in done.stdout, done
    assert len(stream(opened, range(5), 1000.0, 1000.0)) > 0


def test_without_permission_the_group_is_named(board):
    os.chown(board.port, -1, 20) if os.getuid() == 0 else None
    os.chmod(board.port, 0o660 if os.getuid() == 0 else 0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # nobody
    try:
        with pytest.raises(DeviceOpenError, match="no permission") as caught:
            SerialDevice("board", port=board.port).open([])
    finally:
        if user == 0:
            os.seteuid(0)
    assert "sudo" in str(caught.value)
    if user == 0:
        assert "group 'dialout': run 'sudo usermod -aG dialout $USER'" in str(caught.value)


def test_another_baud_rate_is_found():
    with Board(baud_rate=115200) as board:
        device = SerialDevice("board", port=board.port, timeout=0.3)
        with pytest.raises(DeviceOpenError, match=r"not at 500000: set baud_rate = 115200"):
            device.open([channel()])
        device = SerialDevice("board", port=board.port, baud_rate=115200)
        assert "115200" in device.open([channel()]).description
        device.close()


def test_noise_is_recognised(board):
    """Bytes arrive, but no frame; the board does not answer at any rate."""
    board.silent = True
    device = SerialDevice("board", port=board.port, timeout=0.3)
    noise = threading.Timer(0.1, board.garbage, [300])
    noise.start()
    with pytest.raises(
        DeviceOpenError, match=r"sends noise: \d+ bytes, .* but no frame. baud_rate"
    ):
        device.open([channel()])
    noise.join()


def test_text_is_recognised_as_other_firmware(board):
    board.silent = True
    text = threading.Timer(0.1, board.send, [b"Sensor: 123\r\nSensor: 124\r\n"])
    text.start()
    with pytest.raises(DeviceOpenError, match=r"sends text, 'Sensor: 123.* other firmware"):
        SerialDevice("board", port=board.port, timeout=0.3).open([channel()])
    text.join()


def test_a_silent_board_says_what_to_look_at(board):
    board.silent = True
    with pytest.raises(DeviceTimeoutError, match=r"is silent: no byte in 0.3 s. Is it powered"):
        SerialDevice("board", port=board.port, timeout=0.3).open([channel()])
    board.silent = False
    SerialDevice("board", port=board.port).open([channel()])  # the port was released


def test_another_version_of_the_protocol_is_named():
    with Board(version=2) as board:
        begun = time.monotonic()
        with pytest.raises(DeviceOpenError, match="speaks version 2 .* this program version 1"):
            SerialDevice("board", port=board.port).open([channel()])
        assert time.monotonic() - begun < 3.0  # does not wait for another answer


def test_channels_and_limits_must_be_those_of_the_board(board):
    device = SerialDevice("board", port=board.port)
    with pytest.raises(DeviceOpenError, match=r"'servo_4' is on channel 4, .* channels 0 to 3"):
        device.open([channel(4)])
    with pytest.raises(
        DeviceOpenError, match="limits 400 to 2400, but the board takes 500 to 2500"
    ):
        device.open([channel(0, low=400.0)])
    with pytest.raises(DeviceOpenError, match="limits 1000.2 to 1000.8, .* whole numbers"):
        device.open([channel(0, 1000.2, 1000.8, rest=1000.5)])
    assert not board.taken


def test_a_pressed_emergency_input_is_found_before_anything_moves(board):
    board.emergency = True
    with pytest.raises(
        DeviceOpenError,
        match=r"is its emergency input pressed, or not wired \(D2 to GND on the ATmega328P\)",
    ):
        SerialDevice("board", port=board.port).open([channel()])


def test_an_arduino_that_restarts_when_its_port_is_opened_is_waited_for(board):
    board.dead = True
    awake = threading.Timer(1.2, setattr, [board, "dead", False])
    awake.start()
    board.send(b"\x00\xff\x81bootloader")
    device = SerialDevice("board", port=board.port)
    device.open([channel()])
    awake.join()
    assert len(stream(device, range(5), 1000.0)) > 0
    device.close()


# -- what goes wrong while it moves -------------------------------------------------------


@pytest.mark.real_time
def test_damaged_frames_are_dropped_and_counted(board, opened):
    """A fifth of the frames in both directions; no command with another value is taken."""
    stream(opened, range(5), 1500.0, 1500.0)
    board.flip_sent = board.flip_received = 0.2
    found = stream(opened, range(5, 150), 1000.0, 2000.0)
    assert all(entry[2] == {0: 1000, 2: 2000} for entry in board.taken[5:])
    assert len(board.taken) > 80
    assert found[-1].signals["frames_dropped"] > 10
    numbers = [entry[1] for entry in board.taken]
    assert numbers == sorted(set(numbers))


@pytest.mark.real_time
def test_a_board_whose_answers_are_all_damaged_is_no_loose_cable(board, opened):
    opened.answer_timeout = 0.1
    stream(opened, range(5), 1500.0, 1500.0)
    board.flip_sent = 1.0
    with pytest.raises(DeviceTimeoutError, match=r"dropped: \d+ with a wrong checksum") as caught:
        stream(opened, range(5, 60), 1500.0, 1500.0)
    assert "cable" not in str(caught.value)


def test_garbage_between_frames_is_dropped(board, opened):
    found = []
    for sequence in range(30):
        if sequence % 3 == 1:
            board.garbage(20)  # spoils the next frame as well
        found += stream(opened, [sequence], 1000.0, 1000.0)
    assert len(board.taken) == 30 and found[-1].acknowledged == 29
    assert found[-1].signals["frames_dropped"] > 0


def test_a_lost_first_command_arms_later(board, opened):
    """The board does not hear the first commands."""
    board.dead = True
    stream(opened, range(3), 1000.0, 1000.0)
    board.dead = False
    found = stream(opened, range(3, 10), 1000.0, 1000.0)
    assert found[-1].acknowledged == 9 and found[-1].stopped == ""


def test_a_power_cycle_is_recognised(board, opened):
    stream(opened, range(10), 1000.0, 1000.0)
    board.reset()
    with pytest.raises(DeviceFailedError, match="was reset or lost its power"):
        stream(opened, range(10, 40), 1000.0, 1000.0)
    assert board.output[0] is None  # nothing was armed again behind the user's back


def test_reports_that_come_twice_are_no_power_cycle(board, opened):
    """As a line that repeats what it carried: [1, 2, 1, 2]."""
    talk = opened._talk
    once = talk.receive
    talk.receive = lambda: 2 * once()
    found = stream(opened, range(20), 1000.0, 1000.0)
    assert found[-1].acknowledged == 19 and found[-1].stopped == ""
    opened._reports.record_sent(20)
    newer, older = (
        Report(20, ARMED, 0, 20, time, 0, 0, (1000, 1000), ())
        for time in (opened._reports._time + 20_000, opened._reports._time + 10_000)
    )
    assert opened._reports.feedback(newer, 1.0, 0) is not None
    assert opened._reports.feedback(older, 1.0, 0) is None


def test_noise_between_commands_costs_none_of_them(board, opened):
    for sequence in range(10):
        with board._lock:
            board._rest += b"\x17"  # what its receiver took for a byte
        stream(opened, [sequence], 1000.0, 1000.0)
    assert [entry[1] for entry in board.taken] == list(range(10))


def test_a_board_that_restarts_by_a_fault_of_its_own_says_so(board, opened):
    """As when its firmware hung: its clock begins anew, too."""
    stream(opened, range(10), 1000.0, 1000.0)
    with board._lock:
        board.reset()
        board.fail()
    found = stream(opened, range(10, 13), 1000.0, 1000.0)
    assert found[-1].stopped == "it stopped by a fault of its own"


def test_a_board_that_another_program_disarms_is_recognised(board, opened):
    stream(opened, range(10), 1000.0, 1000.0)
    with board._lock:
        board._state = 0
    with pytest.raises(DeviceFailedError, match="it is no longer armed"):
        stream(opened, range(10, 40), 1000.0, 1000.0)
    assert len(board.taken) < 20


def test_a_power_cycle_before_the_first_command_is_recognised(board, opened):
    keep_reading(opened, 0.3)
    board.reset()
    with pytest.raises(DeviceFailedError, match="its clock started again"):
        keep_reading(opened)


def test_an_unplugged_board_has_failed(board, opened):
    stream(opened, range(10), 1000.0, 1000.0)
    board.unplug()
    with pytest.raises(DeviceFailedError, match="is gone: it was unplugged"):
        stream(opened, range(10, 40), 1000.0, 1000.0)
    with pytest.raises(
        DeviceFailedError, match="could not be stopped: .* Its watchdog stops it 0.1"
    ):
        opened.stop()
    opened.close()


def test_an_unplugged_board_is_found_by_reading_alone(board, opened):
    board.unplug()
    with pytest.raises(DeviceFailedError, match="is gone"):
        keep_reading(opened)


def test_a_replugged_board_can_be_opened_again(tmp_path):
    with Board(link=tmp_path / "port") as board:
        device = SerialDevice("board", port=board.port)
        device.open([channel()])
        board.unplug()
        with pytest.raises(DeviceFailedError):
            keep_reading(device)
        with pytest.raises(DeviceOpenError, match="there is no port"):
            device.open([channel()])
        board.replug()
        device.open([channel()])
        assert stream(device, range(5), 1000.0)
        device.close()


def test_a_board_that_falls_silent_is_a_timeout(board, opened):
    stream(opened, range(5), 1000.0, 1000.0)
    board.dead = True
    with pytest.raises(DeviceTimeoutError, match="does not answer any more"):
        stream(opened, range(5, 200), 1000.0, 1000.0)
    with pytest.raises(DeviceTimeoutError, match="did not acknowledge STOP"):
        opened.stop()


def test_a_board_that_reads_nothing_fills_the_line(board, opened):
    board.deaf = True
    with pytest.raises(DeviceTimeoutError, match="line to /dev/pts/"):
        for sequence in range(5000):
            send(opened, sequence, 1000.0, 1000.0)


def test_the_watchdog_and_the_emergency_input_have_their_reasons(board, opened, eventually):
    stream(opened, range(5), 1000.0, 1000.0)
    board.watchdog = 0.05
    eventually(lambda: board.stops)
    board.watchdog = 2.0
    assert eventually(lambda: (f := opened.read()) and f.stopped).startswith("its watchdog")
    for press, reason in (("emergency", "emergency input"), ("fault", "fault of its own")):
        opened.close()
        opened.open([channel(0), channel(2)])
        stream(opened, range(5), 1000.0, 1000.0)
        if press == "emergency":
            board.emergency = True
        else:
            board.emergency = False
            board.fail()
        found = stream(opened, range(5, 15), 1000.0, 1000.0)
        assert reason in found[-1].stopped
        board.emergency = False
    assert all(entry[1] < 6 for entry in board.taken)


def test_a_refused_command_is_a_failure(board, opened):
    stream(opened, range(5), 1000.0, 1000.0)
    board._limits[2] = (600, 900, 700, 0)  # as if another program had changed them
    with pytest.raises(DeviceFailedError, match="refused command 5: a value outside its limits"):
        stream(opened, range(5, 10), 1000.0, 1000.0)


def test_a_closed_device_says_so(board):
    device = SerialDevice("board", port=board.port)
    with pytest.raises(DeviceFailedError, match="is not open"):
        device.read()
    device.stop()
    device.close()
