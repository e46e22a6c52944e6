"""A lab's program that takes commands over UDP or ZeroMQ, in a thread, with faults to inject.

It is written from docs/reference/bridge-messages.md alone.
"""

import json
import socket
import threading
import time


class Peer:
    """Takes commands and reports them as reached; a context manager that ends it.

    Args:
        version: Of the messages that it sends.
    """

    def __init__(self, version=1):
        self.version, self.session, self.sequence = version, "peer", 0
        self.taken, self.hellos, self.stopped = [], [], ""
        """Commands (session, sequence, values); greetings; why it stopped."""
        self.silent = False
        self.extra = {}
        """Further content of each feedback."""
        self.last, self.ended = {}, set()
        self._ended = False
        self._open()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _open(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.01)
        self.port = self.socket.getsockname()[1]
        self.options = {"host": "127.0.0.1", "port": self.port}
        self._to = None

    def _receive(self):
        try:
            data, self._to = self.socket.recvfrom(65536)
        except TimeoutError:
            return None
        return data

    def send(self, data):
        """Send any bytes."""
        if self._to is not None:
            self.socket.sendto(data, self._to)

    def _close(self):
        self.socket.close()

    def close(self):
        if not self._ended:
            self._ended = True
            self._thread.join()
            self._close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def feedback(self, **content):
        """The bytes of a feedback, the next in order."""
        self.sequence += 1
        said = {
            "softctl": self.version,
            "type": "feedback",
            "session": self.session,
            "sequence": self.sequence,
            "time": time.monotonic(),
            **content,
        }
        return json.dumps(said).encode()

    def _run(self):
        while not self._ended:
            data = self._receive()
            if data is not None:
                self._take(json.loads(data))

    def _take(self, said):
        if self.silent:
            return
        assert said["softctl"] == 1
        if said["type"] == "hello":
            self.hellos.append(said)
            if said["session"] not in self.ended:
                self.stopped = ""
        elif said["type"] == "stop":
            self.stopped = "stop"
            self.ended.add(said["session"])
        elif said["type"] == "command":
            key = said["session"]
            if not self.stopped and said["sequence"] > self.last.get(key, -1):
                self.last[key] = said["sequence"]
                self.taken.append((key, said["sequence"], said["values"]))
        content = {"stopped": self.stopped, **self.extra}
        if self.taken:
            content |= {"positions": self.taken[-1][2], "acknowledged": self.taken[-1][1]}
            content["to"] = self.taken[-1][0]
        self.send(self.feedback(**content))


class ZeroMqPeer(Peer):
    """The same over ZeroMQ; it binds, the bridge connects."""

    def _open(self):
        import zmq

        self.context = zmq.Context()
        self.commands, self.answers = self.context.socket(zmq.SUB), self.context.socket(zmq.PUB)
        ports = [
            one.bind_to_random_port("tcp://127.0.0.1") for one in (self.commands, self.answers)
        ]
        self.commands.subscribe(b"")
        self.options = {
            "send": f"tcp://127.0.0.1:{ports[0]}",
            "receive": f"tcp://127.0.0.1:{ports[1]}",
        }
        self._lock = threading.Lock()

    def _receive(self):
        return self.commands.recv() if self.commands.poll(10) else None

    def send(self, data):
        with self._lock:
            self.answers.send(data)

    def _close(self):
        for one in (self.commands, self.answers):
            one.close(linger=0)
        self.context.term()
