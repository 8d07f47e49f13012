"""What stands before every request: whom it is for, how large, how many there are, how long it takes; and its log.

An ASGI application around another one, which sees a request only when all of its body is there.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from glognn.serve.limits import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
log = logging.getLogger("glognn.serve")


class RefusedError(Exception):
    """A request that is answered with a status and one line."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(eq=False)
class Guard:
    """Refuses what is beyond the limits before the application hears of it.

    Attributes:
        application: What answers.
        limits: Of a request.
        hosts: Names that a request may call the service by, without a port; none: any. A page of another site that
            made its own name point here is so kept from reading answers.
    """

    application: Application
    limits: Limits
    hosts: frozenset[str] = LOOPBACK
    _under_way: int = field(default=0, init=False)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        begun, answer = time.perf_counter(), _Answer(send)
        self._under_way += 1
        try:
            await self._answer(scope, receive, answer)
        except RefusedError as error:
            await answer.refuse(error.status, str(error))
        except Exception:
            log.exception("An error in glognn itself:")
            await answer.refuse(500, "An error in glognn itself: the log of the service says where.")
        finally:
            self._under_way -= 1
            client = (scope.get("client") or ["?"])[0]
            place = scope["path"].encode("unicode_escape").decode("ascii")
            seconds = time.perf_counter() - begun
            log.info("%s %s %s %s %.1f ms", client, scope["method"], place, answer.status, 1e3 * seconds)

    async def _answer(self, scope: Message, receive: Receive, answer: _Answer) -> None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_names(scope["method"], headers)
        if self._under_way > self.limits.requests:
            raise RefusedError(503, f"There are {self.limits.requests:,} requests under way already: try again later.")
        whole = False
        try:
            async with asyncio.timeout(self.limits.seconds):
                body = await self._body(headers, receive)
                whole = True
                await self.application(scope, _replay(body, receive), answer)
        except TimeoutError:
            status, what = (504, "An answer") if whole else (408, "The body of a request")
            raise RefusedError(status, f"{what} must be there within {self.limits.seconds:g} seconds.") from None

    def _check_names(self, method: str, headers: dict[bytes, str]) -> None:
        host = headers.get(b"host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self.hosts and name.lower() not in self.hosts:
            raise RefusedError(421, f"This service goes by {', '.join(sorted(self.hosts))}. Got the Host {host!r:.60}.")
        kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        if method == "POST" and kind != "application/json":
            raise RefusedError(415, f"The Content-Type must be application/json. Got {kind!r:.60} instead.")

    async def _body(self, headers: dict[bytes, str], receive: Receive) -> bytes:
        """All of it; one that is too large is read to its end and forgotten, as many clients hear no answer before."""
        declared = headers.get(b"content-length", "0")
        if b"expect" in headers and int(declared) > self.limits.bytes:
            self._refuse_size()
        body, size, more = bytearray(), 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "The client went away before its request was whole.")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size <= self.limits.bytes:
                body += part
        if size > self.limits.bytes:
            self._refuse_size()
        return bytes(body)

    def _refuse_size(self) -> None:
        raise RefusedError(413, f"A request must be of at most {self.limits.bytes:,} bytes: ask in several.")


class _Answer:
    """What is sent, with its status, and headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message.get("headers", []),
                (b"cache-control", b"no-store"),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)

    async def refuse(self, status: int, text: str) -> None:
        """Answer with one line, unless an answer has begun already."""
        if self.status:
            return
        body = json.dumps({"error": text}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(b"retry-after", b"1")] * (status == 503) + [(b"connection", b"close")] * (status in (408, 413))
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """A body that has been read, once, and then what is received."""
    waiting = [body]

    async def read() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return read
