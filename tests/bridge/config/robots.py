"""A valid configuration file, which tests change."""

TEXT = """\
robot = "Trunk"

[stream]
rate = 100
interpolation = "linear"
lookahead = 2
slow_scene = "wait"

[safety]
command_timeout = 0.5
stop_file = "stop"

[devices.board]
type = "loopback"
unit = "us"
resolution = 0.5

[devices.camera]
type = "loopback"

[actuators.left]
device = "board"
channel = 0
quantity = "length"
unit = "mm"
map = { type = "spool", radius = 12.0, counts_per_turn = 4000, gear = 1.0 }
sign = -1
zero = 1000
position = [0.0, 60.0]
rate = 40.0
acceleration = 400.0
jump = 10.0
effort_max = 800.0
rest = 0.0
soft_start = 2.0

[actuators.right]
device = "board"
channel = 1
quantity = "pressure"
unit = "kPa"
position = [0.0, 50.0]
rate = 30.0
acceleration = 300.0
jump = 5.0
rest = 0.0
[actuators.right.map]
type = "table"
positions = [0.0, 20.0, 50.0]
values = [0.0, 300.0, 1023.0]

[actuators.bend]
device = "board"
channel = 2
quantity = "angle"
unit = "deg"
map.type = "polynomial"
map.coefficients = [30.0, 0.2]
position = [-10.0, 45.0]
rate = 30.0
acceleration = 300.0
jump = 5.0
rest = 0.0

[sensors.tip]
device = "camera"
signal = "tip"
quantity = "length"
unit = "mm"
size = 3
"""
