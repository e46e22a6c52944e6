"""A rosbridge v2 server with a robot behind it, written from its protocol's description.

github.com/RobotWebTools/rosbridge_suite, ROSBRIDGE_PROTOCOL.md: advertise, publish, subscribe.
The robot takes positions on /commands (Float64MultiArray or JointState) and says them on
/joint_states; /camera/tip has a pose. A process of its own: python -m tests.bridge.rosbridge_server
LOG PORT; lines on its input change what it does, and every message that it gets is a line of LOG.
"""

import asyncio
import json
import sys
import threading

from autobahn.asyncio.websocket import WebSocketServerFactory, WebSocketServerProtocol

JOINTS = ["first", "second"]


class Robot:
    def __init__(self, log):
        self.positions, self.stopped, self.silent = [0.0, 0.0], False, False
        self.clients, self.log, self.names = set(), log, JOINTS

    def take(self, topic, message):
        if topic == "/stop" and message["data"]:
            self.stopped = True
        elif topic == "/commands" and "position" in message:
            self.positions = [message["position"][message["name"].index(n)] for n in JOINTS]
        elif topic == "/commands":
            self.positions = message["data"]

    def say(self):
        if self.silent:
            return
        joints = {
            "header": {"stamp": {"sec": 1, "nanosec": 2}, "frame_id": ""},
            "name": ["of another robot", *reversed(self.names)],
            "position": [9.0, *reversed(self.positions)],
            "velocity": [],
            "effort": [0.0, 0.2, 0.1],
        }
        tip = {"x": 1.0, "y": 2.0, "z": 3.0}
        pose = {"position": tip, "orientation": {"x": 0.0, "y": 0.0, "z": 0.6, "w": 0.8}}
        for client in [c for c in self.clients if c.state == c.STATE_OPEN]:
            client.say("/joint_states", joints)
            client.say("/positions", {"layout": {}, "data": [*self.positions, None]})
            client.say("/camera/tip", {"header": {}, "pose": pose})
            client.say("/broken", {"data": "text"})


class Client(WebSocketServerProtocol):
    def onOpen(self):
        self.wanted = set()
        robot.clients.add(self)

    def onMessage(self, payload, isBinary):
        message = json.loads(payload)
        print(json.dumps(message), file=robot.log, flush=True)
        if message["op"] == "subscribe":
            self.wanted.add(message["topic"])
        elif message["op"] == "publish":
            robot.take(message["topic"], message["msg"])

    def say(self, topic, message):
        if topic in self.wanted:
            found = {"op": "publish", "topic": topic, "msg": message}
            self.sendMessage(json.dumps(found).encode())

    def onClose(self, wasClean, code, reason):
        robot.clients.discard(self)


async def serve():
    factory = WebSocketServerFactory()
    factory.protocol = Client
    loop = asyncio.get_running_loop()
    server = await loop.create_server(factory, "127.0.0.1", int(sys.argv[2]))
    print(server.sockets[0].getsockname()[1], flush=True)

    def obey():
        for line in sys.stdin:
            loop.call_soon_threadsafe(setattr, robot, *json.loads(line))

    threading.Thread(target=obey, daemon=True).start()
    while True:
        robot.say()
        await asyncio.sleep(0.005)


if __name__ == "__main__":
    with open(sys.argv[1], "w") as log:
        robot = Robot(log)
        asyncio.run(serve())
