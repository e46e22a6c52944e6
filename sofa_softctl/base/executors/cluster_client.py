"""Connection to the scheduler of a Dask cluster, without what Dask prints."""

from __future__ import annotations

import asyncio
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sofa_softctl.errors import ClusterError

CONNECT_TIMEOUT = 8.0
"""Longest time to wait for an answer of the scheduler [s]."""
_ADDRESS = re.compile(r"(\w+://)?(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):\d{1,5}/?")


def connect_client(address: str) -> Any:
    """Connect to a scheduler; return a `distributed.Client`.

    Raises:
        ClusterError: Dask is not installed, the address is invalid, or nothing answers there.
    """
    if not _ADDRESS.fullmatch(address):
        raise ClusterError(
            f"Expected the address of a Dask scheduler, such as tcp://host:8786, got '{address}'. "
            "The scheduler prints it at its start."
        )
    try:
        from distributed import Client
    except ImportError as error:
        from sofa_softctl.base.extras import install_command

        raise ClusterError(
            f"A cluster needs Dask, and distributed cannot be imported ({error}): "
            f"{install_command('cluster')}."
        ) from error
    try:
        _check_scheduler(address)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own check names the versions that matter
            return Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False, name="softctl")
    except (OSError, ValueError, ImportError, TypeError, RuntimeError) as error:
        raise ClusterError(
            f"No Dask scheduler at '{address}': {_first_line(error)}. Start one with 'dask "
            "scheduler', or check the address, and whether a firewall is in between."
        ) from error


def _check_scheduler(address: str) -> None:
    """Connect once: `Client` retries for ever if another program answers.

    Raises:
        OSError: No scheduler answers within `CONNECT_TIMEOUT`.
    """
    from distributed.comm import connect
    from distributed.security import Security

    async def connect_once() -> None:
        arguments = Security().get_connection_args("client")
        connecting = connect(address, CONNECT_TIMEOUT, **arguments)
        # 1 s more than its own timeout: its error is the better one.
        connection = await asyncio.wait_for(connecting, CONNECT_TIMEOUT + 1.0)
        connection.abort()

    try:
        asyncio.run(connect_once())
    except TimeoutError as error:
        raise OSError("what answers there does not speak Dask's protocol") from error


@contextmanager
def silence_dask() -> Iterator[None]:
    """Suppress Dask's log messages in the block: this package reports what happens."""
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    names = ("distributed", "tornado", "asyncio")
    levels = [
        (logger, logger.level) for logger in loggers if logger.name.partition(".")[0] in names
    ]
    for logger, _ in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels:
            logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
