"""Who may connect, and what anybody may send."""

import http.client
import os
import socket
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from sofa_softctl.errors import UsageError
from sofa_softctl.view.browser import server as guarded
from sofa_softctl.view.browser.server import Guard, open_server, stop_server

PROTOCOL = f"viser-v{viser.__version__}"


@pytest.fixture
def served():
    server, address = open_server("localhost", None, "test")
    yield server, address
    stop_server(server)


def join(address, **options):
    return connect(
        address.replace("http", "ws"), subprotocols=[PROTOCOL], close_timeout=0.2, **options
    )


@pytest.mark.quick
@pytest.mark.parametrize(
    ("host", "origin", "target", "cookie", "is_refused"),
    [
        ("localhost:8080", None, "/", "", False),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", "/", "", False),
        ("localhost:9000", "http://localhost:9000", "/", "", False),  # through ssh -L 9000:...
        ("[::1]:8080", "http://[::1]:8080", "/", "", False),
        ("localhost:8080", "http://other.example", "/", "", True),
        ("localhost:8080", "http://localhost:3000", "/", "", True),
        ("localhost:8080", "null", "/", "", True),  # of a file or a sandbox
        ("other.example:8080", None, "/", "", True),  # a name that was pointed here
        ("localhost.other.example", "http://localhost.other.example", "/", "", True),
        ("", None, "/", "", True),
        ("[", None, "/", "", True),
        ("localhost:8080", "http://[", "/", "", True),
    ],
)
def test_this_computer_alone(host, origin, target, cookie, is_refused):
    assert bool(Guard("", 8080).refusal(host, origin, target, cookie)) == is_refused


@pytest.mark.quick
@pytest.mark.parametrize(
    ("target", "cookie", "is_refused"),
    [
        ("/?token=secret", "", False),
        ("/", "softctl_view_8080=secret", False),
        ("/", "a=b; softctl_view_8080=secret", False),
        ("/", "", True),
        ("/?token=", "", True),
        ("/?token=Secret", "", True),
        ("/?token=secre%C3%A9", "", True),
        ("/", "softctl_view_8081=secret", True),
        ("/?other=secret", "token=secret", True),
    ],
)
def test_elsewhere_a_token(target, cookie, is_refused):
    guard = Guard("secret", 8080)
    assert bool(guard.refusal("robot.lab:8080", None, target, cookie)) == is_refused
    assert guard.refusal("robot.lab:8080", "http://other.example", target, cookie)


def test_pages_of_other_origins_cannot_connect(served):
    _, address = served
    with pytest.raises(InvalidStatus) as refused:
        join(address, origin="http://other.example")
    assert refused.value.response.status_code == 403
    with join(address, origin=address) as socket_:
        assert socket_.recv(timeout=10.0)


def test_the_token_is_checked_on_the_web_socket():
    server, address = open_server("127.0.0.1", None, "test")
    stop_server(server)
    server, address = open_server("0.0.0.0", None, "test")
    try:
        port = server.get_port()
        local, _, query = address.partition("/?")
        local = f"http://127.0.0.1:{port}"
        for path in ("/", "/?token=wrong"):
            with pytest.raises(InvalidStatus):
                join(local + path)
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(local + path)
        with urllib.request.urlopen(f"{local}/?{query}") as page:
            cookie = page.headers["Set-Cookie"].partition(";")[0]
            assert "HttpOnly" in page.headers["Set-Cookie"]
        with join(local, additional_headers={"Cookie": cookie}) as socket_:
            assert socket_.recv(timeout=10.0)
    finally:
        stop_server(server)


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%5c..%5cetc",
        "//etc/passwd",
        "/etc/passwd",
    ],
)
def test_no_file_outside_the_page_is_served(served, path):
    server, _ = served
    connection = http.client.HTTPConnection("localhost", server.get_port())
    connection.request("GET", path)
    assert connection.getresponse().status == 404


def test_viewers_cannot_open_the_page_to_the_public(served):
    """viser has a tunnel to a public server, which any viewer may ask for."""
    from viser import _messages

    handlers = served[0]._websock_server._incoming_handlers
    assert not {_messages.ShareUrlRequest, _messages.ShareUrlDisconnect} & set(handlers)


def test_a_port_in_use_and_an_unknown_address(served):
    server, _ = served
    port = server.get_port()
    with pytest.raises(UsageError, match=rf"Port {port} of 'localhost' cannot be used"):
        open_server("localhost", port, "test")
    with pytest.raises(UsageError, match="no address of this computer"):
        open_server("no.such.name.example", None, "test")
    with pytest.raises(UsageError, match="1 to 65535"):
        open_server("localhost", 70000, "test")
    other, address = open_server("localhost", None, "test")
    stop_server(other)
    assert str(port) not in address


def test_messages_of_any_kind_harm_nothing(served, capfd):
    """10,000 messages: random bytes, and viser's own kinds with values of other kinds."""
    import dataclasses

    import msgspec
    from viser import _messages

    server, address = served
    slider = server.gui.add_slider("s", 0.0, 1.0, 0.1, 0.5)
    handle = server.scene.add_transform_controls("/goal")
    kinds = [kind for kind in _messages.Message.get_subclasses() if dataclasses.is_dataclass(kind)]
    values = [None, -1, 1e308, float("nan"), "x", [], {}, [1.0, 2.0, 3.0], b"", True, "/goal"]
    random = np.random.default_rng(0)

    def message():
        if random.random() < 0.005:
            return random.bytes(int(random.integers(0, 200)))
        kind = kinds[random.integers(len(kinds))]
        pick = {
            field.name: values[random.integers(len(values))] for field in dataclasses.fields(kind)
        }
        return msgspec.msgpack.encode({"type": kind.__name__, **pick})

    sent = 0
    while sent < 10_000:
        with join(address, open_timeout=20.0) as socket_:
            try:
                while sent < 10_000:
                    socket_.send(message())
                    sent += 1
            except ConnectionClosed:  # by the server, after nonsense
                continue
    with join(address) as socket_:
        assert socket_.recv(timeout=10.0)
    assert slider.value == 0.5
    assert handle.visible
    assert not capfd.readouterr().err


def test_a_viewer_that_does_not_read_is_dropped(monkeypatch):
    """Its messages are not collected either: only the last state of each object is kept."""
    monkeypatch.setattr(guarded, "PING_INTERVAL", 0.3)
    monkeypatch.setattr(guarded, "PING_TIMEOUT", 1.0)
    server, address = open_server("localhost", None, "test")
    try:
        mesh = server.scene.add_mesh_simple("m", np.zeros((50_000, 3)), np.zeros((1, 3), int))
        with join(address, ping_interval=None, max_queue=1) as lazy:
            lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            server_side = server._websock_server._live_connections
            deadline = time.monotonic() + 20.0
            while server_side and time.monotonic() < deadline:
                mesh.vertices = np.random.default_rng(0).random((50_000, 3))
                time.sleep(0.03)
            assert not server_side
        assert len(server._websock_server._broadcast_buffer.message_from_id) < 40
    finally:
        stop_server(server)


def test_memory_does_not_grow_with_viewers_that_come_and_go(served):
    server, address = served
    mesh = server.scene.add_mesh_simple("m", np.zeros((5000, 3)), np.zeros((1, 3), int))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    sizes = []
    for k in range(150):
        with join(address) as socket_:
            socket_.recv(timeout=10.0)
            mesh.vertices = np.full((5000, 3), float(k))
        if k in (49, 149):
            sizes.append(resident())
    assert sizes[1] - sizes[0] < 5e6  # 100 viewers with the mesh alone would be 6 MB
