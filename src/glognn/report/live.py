"""A page of ``glognn explore`` that is served on this machine, and answers for every node of the graph on demand.

Two addresses besides the page: ``/reasons?node=17`` by number, and ``/find?id=u123`` by what a user calls it. It takes
requests by the names of this machine alone, so that a page of another site cannot read answers under a name of its own.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from glognn.errors import InputError
from glognn.report.exploration import Explored, as_json, node_record

_NAMES = ("localhost", "127.0.0.1", "[::1]")


def serve_page(
    page: str, found: Explored, *, top: int, port: int, ready: Callable[[str, Callable[[], None]], None]
) -> None:
    """Answer until interrupted.

    Args:
        page: What :func:`~glognn.report.exploration.explore_page` made.
        found: What it was made of.
        top: Supporters, and opponents, of each node.
        port: 0 takes a free one.
        ready: Told the address when requests are taken, and how to end.
    """
    content, one_at_a_time = page.encode(), threading.Lock()
    by_id: dict[str, int] = {}

    def numbers() -> dict[str, int]:
        if not by_id:
            names = found.explainer.names
            by_id.update({str(names.node(number)): number for number in range(found.explainer.graph.num_nodes)})
        return by_id

    def answer(path: str, query: dict[str, list[str]]) -> tuple[int, str, bytes]:
        if path == "/":
            return 200, "text/html; charset=utf-8", content
        if path == "/favicon.ico":
            return 204, "image/x-icon", b""
        count = found.explainer.graph.num_nodes
        if path == "/find":
            wanted = query.get("id", [""])[0]
            with one_at_a_time:
                node = numbers().get(wanted)
            return (404, _JSON, as_json({"error": "There is no such node."})) if node is None else _node(node)
        if path == "/reasons":
            given = query.get("node", [""])[0]
            if not (given.isascii() and given.isdecimal() and len(given) < 12 and int(given) < count):
                return 400, _JSON, as_json({"error": f"node must be in the range [0, {count - 1}]."})
            return _node(int(given))
        return 404, _JSON, as_json({"error": "There is nothing here."})

    def _node(number: int) -> tuple[int, str, bytes]:
        with one_at_a_time:
            return 200, _JSON, as_json(node_record(found, number, top))

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version, protocol_version = "glognn", "", "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            host = self.headers.get("Host", "")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            parts = urlsplit(self.path)
            if name.lower() not in _NAMES:
                status, kind, body = 421, _JSON, as_json({"error": f"This page goes by {', '.join(_NAMES)}."})
            else:
                try:
                    status, kind, body = answer(parts.path, parse_qs(parts.query))
                except Exception as error:
                    status, kind, body = 500, _JSON, as_json({"error": f"{type(error).__name__}: {error}"})
            self.send_response(status)
            for header, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
                ("X-Frame-Options", "DENY"),
            ):
                self.send_header(header, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: the page says what goes wrong."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise InputError(f"--port {port} cannot be listened on: {getattr(error, 'strerror', None) or error}.") from None
    assert ipaddress.ip_address(server.server_address[0]).is_loopback  # type: ignore[arg-type]
    server.daemon_threads = True
    with server:
        ready(f"http://127.0.0.1:{server.server_address[1]}", server.shutdown)
        server.serve_forever(poll_interval=0.1)


_JSON = "application/json"
