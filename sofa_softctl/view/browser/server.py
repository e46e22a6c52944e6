"""Server of the page: for this computer, or with a token; pages of other origins are refused."""

from __future__ import annotations

import hmac
import http
import io
import logging
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sofa_softctl.errors import SoftctlError, UsageError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this computer."""
DEFAULT_PORT = 8080
PORTS_TRIED = 50
"""Number of ports after the default one of which the first free one is taken."""
PING_INTERVAL, PING_TIMEOUT = 5.0, 15.0
"""Time between two pings of a client, and the time without an answer after which it is dropped [s].
A client that does not read does not answer."""
OPEN_TIMEOUT = 2.0
"""Time from a connection to its request; the server's end waits for it [s]."""
FRAMES_OF_LOCAL_PAGES = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
"""Pages that may hold this one in a frame: notebooks on this computer."""


@dataclass(frozen=True)
class Guard:
    """Check of each request, of pages and of web sockets, before it is answered."""

    token: str
    """Secret that a browser must bring; empty on this computer alone."""
    port: int
    """Port of the page, for the name of its cookie: cookies of all ports are sent to each."""

    def refusal(self, host: str, origin: str | None, target: str, cookie: str) -> str:
        """Return why a request is refused, or "".

        Args:
            host: Header Host.
            origin: Header Origin, which browsers send with web sockets and scripts cannot change.
            target: Path and query.
            cookie: Header Cookie.
        """
        try:
            name, page = urlsplit(f"//{host}").hostname, urlsplit(origin or f"http://{host}").netloc
        except ValueError:
            return "Host or Origin is no address."
        if not self.token and name not in LOOPBACK:
            return "This page is for this computer only: open it as localhost."
        if page != host:
            return "A page of another origin may not connect."
        if self.token and not self.has_token(target, cookie):
            return "The address needs its token: open the whole address that was printed."
        return ""

    def has_token(self, target: str, cookie: str) -> bool:
        """Return True if the address or the cookie has the token."""
        given = parse_qs(urlsplit(target).query).get("token", [])
        given += [
            value
            for name, _, value in (part.strip().partition("=") for part in cookie.split(";"))
            if name == self.cookie_name
        ]
        expected = self.token.encode()
        return any(hmac.compare_digest(value.encode(), expected) for value in given)

    @property
    def cookie_name(self) -> str:
        """Name of the cookie."""
        return f"softctl_view_{self.port}"


def open_server(host: str, port: int | None, title: str) -> tuple[Any, str]:
    """Start a server of viser and return it with the address of its page.

    Args:
        host: Address to listen at. All but this computer's own get a token.
        port: Port; None takes the first free one from `DEFAULT_PORT`.
        title: Title of the panel.

    Raises:
        SoftctlError: viser is not installed, or the guard does not work with its version.
        UsageError: The address or port cannot be used.
    """
    check_viser()
    import viser

    chosen = _free_port(host, port)
    guard = Guard("" if host in LOOPBACK else secrets.token_urlsafe(16), chosen)
    with _guard_requests(guard), redirect_stdout(io.StringIO()):  # viser's banner knows no token
        server = viser.ViserServer(host=host, port=chosen, label=title, verbose=False)
    _forbid_sharing(server)
    server.get_event_loop().set_exception_handler(_ignore_wrong_message)
    if not _refuses_other_origins(host, server.get_port()):
        stop_server(server)
        raise SoftctlError(
            f"viser {viser.__version__} does not ask before it answers: pages of other origins "
            "could connect. Install a version of viser that pyproject.toml allows."
        )
    if server.get_port() != chosen:
        stop_server(server)
        raise UsageError(f"Port {chosen} of {host} is in use. Give another one with --port.")
    query = f"/?token={guard.token}" if guard.token else ""
    name = socket.gethostname() if _is_any(host) else f"[{host}]" if ":" in host else host
    return server, f"http://{name}:{chosen}{query}"


def check_viser() -> None:
    """Raise SoftctlError if viser is not installed."""
    try:
        import viser
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise SoftctlError(
            f"The view in the browser needs the extra [view] ({error}): {install_command('view')}."
        ) from error
    del viser


def stop_server(server: Any) -> None:
    """Stop a server without a word of viser, and without waiting for slow viewers to answer."""
    connections = tuple(server._websock_server._live_connections.values())
    for connection in connections:
        server.get_event_loop().call_soon_threadsafe(connection.transport.abort)
    with redirect_stdout(io.StringIO()):
        server.stop()


def _is_any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")


def _free_port(host: str, port: int | None) -> int:
    """Return the port, or the first free one from the default.

    viser takes the next free port instead of one in use.
    """
    ports = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if port is None else [port]
    for candidate in ports:
        if not 0 < candidate < 65536:
            raise UsageError(f"A port is a number from 1 to 65535. Got: {candidate}")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, candidate))
            except socket.gaierror as error:
                raise UsageError(
                    f"'{host}' is no address of this computer ({error.strerror}). Give "
                    "--host localhost, or 0.0.0.0 for all of its addresses."
                ) from error
            except OSError as error:
                reason = error.strerror
                continue
        return candidate
    raise UsageError(
        f"Port {ports[0]} of '{host}' cannot be used ({reason}). Give another one with --port."
        if port is not None
        else f"No port of '{host}' from {ports[0]} to {ports[-1]} can be used ({reason}). Give one "
        "with --port, or another --host."
    )


@contextmanager
def _guard_requests(guard: Guard) -> Iterator[None]:
    """Make servers of viser in the block ask the guard; viser offers no place for it.

    Whether that worked is checked afterwards, so that another version cannot leave the door open.
    """
    import websockets.asyncio.server as websockets

    serve = websockets.serve

    def serve_with_guard(*args: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        options |= {"ping_interval": PING_INTERVAL, "ping_timeout": PING_TIMEOUT}
        options |= {"open_timeout": OPEN_TIMEOUT, "logger": _silent_log()}
        answer = partial(_answer, guard, process_request)
        return serve(*args, process_request=answer, **options)

    websockets.serve = serve_with_guard  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        websockets.serve = serve  # type: ignore[misc]


def _silent_log() -> logging.Logger:
    """Return a log for web sockets, which would print the traceback of each wrong message."""
    log = logging.getLogger(f"{__name__}.websockets")
    log.setLevel(logging.CRITICAL + 1)
    return log


def _ignore_wrong_message(loop: Any, context: dict[str, Any]) -> None:
    """Ignore the error of a message that viser cannot use, of which asyncio prints a traceback."""


def _answer(guard: Guard, answer: Callable[..., Any], connection: Any, request: Any) -> Any:
    """Answer a request as viser does, unless the guard refuses it."""
    from websockets import Headers
    from websockets.http11 import Response

    headers = request.headers
    values = [headers.get_all(name) for name in ("Host", "Origin", "Cookie")]
    if any(len(repeated) > 1 for repeated in values[:2]):
        reason = "A request has one Host and at most one Origin."
    else:
        host, origin, cookie = (repeated[0] if repeated else None for repeated in values)
        reason = guard.refusal(host or "", origin, request.path, cookie or "")
    if reason:
        body = f"{reason}\n".encode()
        kind = Headers({"Content-Type": "text/plain; charset=utf-8"})
        kind["Content-Length"] = str(len(body))
        return Response(http.HTTPStatus.FORBIDDEN.value, "Forbidden", kind, body)
    response = answer(connection, request)
    if response is not None:
        response.headers["Content-Security-Policy"] = FRAMES_OF_LOCAL_PAGES
        response.headers["Referrer-Policy"] = "no-referrer"  # the address has the token
        if guard.token:
            cookie = f"{guard.cookie_name}={guard.token}; HttpOnly; SameSite=Strict; Path=/"
            response.headers["Set-Cookie"] = cookie
    return response


def _forbid_sharing(server: Any) -> None:
    """Take away viser's tunnel to the public, which any client may ask for."""
    from viser import _messages

    handlers = server._websock_server._incoming_handlers
    for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        handlers.pop(message, None)


def _refuses_other_origins(host: str, port: int) -> bool:
    """Return True if the running server refuses a page of another origin."""
    address = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    connection = HTTPConnection(address, port, timeout=5.0)
    try:
        connection.request("GET", "/", headers={"Origin": "http://other.example"})
        return connection.getresponse().status == http.HTTPStatus.FORBIDDEN
    finally:
        connection.close()
