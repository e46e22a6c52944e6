"""SerialPortBridgeGeneric sends what SOFA's own sends, byte for byte."""

PROGRAM = """
import serial_ports
values = [[60, 100, 180], [0, 1, 254], [255, 7, 0], [10, 20, 30]]
result([serial_ports.sent(values, options) for options in serial_ports.OPTIONS])
"""


def test_bytes_states_and_what_is_received_are_those_of_sofa(in_sofa, embedded):
    there, said = in_sofa(PROGRAM)
    here = embedded(PROGRAM)
    assert here == there, said
    assert there[0][0] == [[255, 150, 150, 150], "Valid", []]  # of the step before, as added first
    assert there[-2] == [[[], "Invalid", []]] * 4
    assert [step[2] for step in there[-1]] == [[0], [1], [2], [3]]
