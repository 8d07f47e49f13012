"""A service on a socket, from the first request to a signal that ends it."""

from __future__ import annotations

import ipaddress
import logging
import math
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from glognn.errors import InputError
from glognn.serve.app import make_app
from glognn.serve.guard import LOOPBACK, Guard
from glognn.serve.limits import Limits
from glognn.serve.scorer import Scorer

_CONNECTIONS = 8
"""Open connections for each request that may be under way; more are refused as they come."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(scorer: Scorer, *, host: str, port: int, limits: Limits, ready: Callable[[str], None]) -> None:
    """Answer until SIGTERM or an interrupt; what is under way then is still answered.

    Args:
        scorer: A warm model.
        host: Address to bind.
        port: 0 takes a free one.
        limits: Of requests.
        ready: Told the address when requests are taken.
    """
    hosts = LOOPBACK | {host.lower()} if is_loopback(host) else frozenset[str]()
    guarded = Guard(make_app(scorer, limits), limits, hosts)
    config = uvicorn.Config(
        guarded,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS * limits.requests,
        timeout_graceful_shutdown=math.ceil(limits.seconds),
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server = uvicorn.Server(config)

    def end(_: int, __: FrameType | None) -> None:
        server.should_exit = True

    usual = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with _bound(host, port) as listening:
            name = f"[{host}]" if ":" in host else host
            ready(f"http://{name}:{listening.getsockname()[1]}")
            server.run(sockets=[listening])
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=128)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits 40 ms for its own end
        return listening
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--host {host} --port {port} cannot be listened on: {reason}.") from None
