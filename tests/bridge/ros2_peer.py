"""A node that takes positions on /commands and says them on /joint_states, in its own process.

python -m tests.bridge.ros2_peer TYPE: lines on its input change what it does.
"""

import json
import sys
import threading
from importlib import import_module

rclpy = import_module("rclpy")
qos = import_module("rclpy.qos")


class Robot:
    def __init__(self, node, kind):
        std, sensor, geometry = (
            import_module(f"{name}_msgs.msg") for name in ("std", "sensor", "geometry")
        )
        self.positions, self.silent = {"first": 0.0, "second": 0.0}, False
        self.JointState, self.PoseStamped = sensor.JointState, geometry.PoseStamped
        cls = {"Float64MultiArray": std.Float64MultiArray, "JointState": sensor.JointState}[kind]
        node.create_subscription(cls, "/commands", self.take, 10)
        node.create_subscription(std.Bool, "/stop", self.stop, 10)
        self.states = node.create_publisher(sensor.JointState, "/joint_states", 10)
        sensor_data = qos.qos_profile_sensor_data
        self.poses = node.create_publisher(geometry.PoseStamped, "/camera/tip", sensor_data)
        node.create_timer(0.005, self.say)

    def take(self, message):
        if hasattr(message, "data"):
            self.positions = dict(zip(self.positions, message.data, strict=True))
        else:
            assert message.header.stamp.sec > 0
            self.positions.update(zip(message.name, message.position, strict=True))

    def stop(self, message):
        if message.data:
            print("stopped", flush=True)

    def say(self):
        if self.silent:
            return
        states = self.JointState()
        states.name = ["of another robot", *reversed(self.positions)]
        states.position = [9.0, *reversed(self.positions.values())]
        states.effort = [0.0, 0.2, 0.1]
        self.states.publish(states)
        pose = self.PoseStamped()
        pose.pose.position.z, pose.pose.orientation.w = 3.0, 1.0
        self.poses.publish(pose)


if __name__ == "__main__":
    rclpy.init()
    node = rclpy.create_node("robot")
    robot = Robot(node, sys.argv[1])
    threading.Thread(
        target=lambda: [setattr(robot, *json.loads(line)) for line in sys.stdin], daemon=True
    ).start()
    print("ready", flush=True)
    try:
        rclpy.spin(node)
    except import_module("rclpy.executors").ExternalShutdownException:
        node.destroy_node()  # as `ros2 run` ends a node: the others hear of it
