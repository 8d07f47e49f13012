"""``glognn serve`` as a process of its own, asked by a client over the network of this machine."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from glognn.serve.page import PAGE  # noqa: E402
from glognn.serve.server import is_loopback  # noqa: E402
from tests.program import GLOGNN, Program, run  # noqa: E402
from tests.serve.test_scorer import folder, posted, same_bits  # noqa: F401, E402

LIMITS = ["--max-bytes", "60000", "--max-nodes", "50", "--max-seconds", "60"]


class Service:
    """A service that takes requests."""

    def __init__(self, place: Path, *options: str) -> None:
        self.program = Program(GLOGNN, "serve", str(place), "--port", "0", *options)
        while not (found := re.search(r"http://\S+", self.program.output())):
            assert self.program.poll() is None, self.program.wait().stderr
            time.sleep(0.01)
        self.client = httpx.Client(base_url=found[0], timeout=60)

    def post(self, place: str, body: Any) -> Any:
        return self.client.post(place, json=body)

    def end(self, number: int = signal.SIGTERM) -> Any:
        """Ask it to end; exit code and output."""
        self.client.close()
        self.program.send(number)
        return self.program.wait()


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:  # noqa: F811
    started = Service(folder / "run", *LIMITS)
    yield started
    started.end()


def one_line(answer: Any, status: int, expected: str) -> None:
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    text = answer.json()["error"]
    assert expected in text
    assert len(text.splitlines()) == 1


def test_eight_clients_at_once_get_what_predict_writes(
    service: Service,
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    new = ["--nodes", str(folder / "new.csv"), "--edges", str(folder / "new_edges.csv")]
    run("predict", str(folder / "run"), "--out", "known.parquet", cwd=tmp_path)
    run("predict", str(folder / "run"), *new, "--out", "new.parquet", cwd=tmp_path)
    known, unseen = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("known", "new"))
    body = posted(folder)

    def ask(number: int) -> None:
        with httpx.Client(base_url=service.client.base_url, timeout=60) as client:
            for turn in range(3):
                one = known.iloc[[(5 * number + turn) % len(known)]]
                same_bits(client.get("/predict", params={"id": one["who"].tolist()}).json()["predictions"], one)
                same_bits(client.post("/predict", json={"ids": known["who"].tolist()}).json()["predictions"], known)
                same_bits(client.post("/predict/new", json=body).json()["predictions"], unseen)

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(ask, range(8)))


def test_health_and_description(service: Service) -> None:
    assert service.client.get("/health").json()["status"] == "ok"
    found = service.client.get("/model").json()
    assert found["classes"] == ["no", "yes"]
    assert found["edge_columns"] == [{"from": "id", "to": "id", "times": "weight"}]
    assert set(found["baselines"]) == {"constant", "logistic regression"}
    assert set(found["baselines"]["constant"]) <= set(found["scores"])
    assert found["limits"] == {"bytes": 60000, "nodes": 50, "requests": 32, "seconds": 60.0}


def test_the_page_and_its_document_need_nothing_from_elsewhere(service: Service) -> None:
    page, document = service.client.get("/"), service.client.get("/openapi.json").json()
    assert page.text == PAGE
    assert "://" not in PAGE
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert set(document["paths"]) == {"/health", "/model", "/predict", "/predict/new"}
    new = document["components"]["schemas"]["NewNodes"]
    assert set(new["properties"]["nodes"]["items"]["required"]) == {"who", "age", "amount", "plan", "since", "vip"}
    assert service.post("/predict/new", new["example"]).status_code == 200
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])


def test_what_is_wrong_is_answered_in_one_line(service: Service) -> None:
    example = service.client.get("/openapi.json").json()["components"]["schemas"]["NewNodes"]["example"]
    [node], [edge] = example["nodes"], example["edges"]
    known = edge["to"]
    one_line(service.client.get("/predict", params={"id": "nobody"}), 404, "no id 'nobody'")
    one_line(service.client.get("/predict"), 422, "id: Field required")
    one_line(service.post("/predict", {"ids": [known, "nobody"]}), 404, "no id 'nobody'")
    one_line(service.post("/predict", {"ids": []}), 422, "ids: List should have at least 1 item")
    one_line(service.post("/predict", {"ids": [None]}), 422, "Got None")
    one_line(service.post("/predict", {"ids": [known], "nodes": []}), 422, "nodes: Extra inputs are not permitted")
    one_line(service.post("/predict", [known]), 422, "The body: ")
    one_line(service.post("/predict", {"ids": [known] * 51}), 413, "at most 50 nodes. Got 51")
    less = {name: value for name, value in node.items() if name != "age"}
    for wrong in ({**node, "agee": 3}, {**less, "agee": 3}):
        told = "'agee' of node 1 is no column of training. Did you mean 'age'?"
        one_line(service.post("/predict/new", {"nodes": [wrong]}), 422, told)
    one_line(service.post("/predict/new", {"nodes": [less]}), 422, "must have 'age', which node 1 has not: null")
    lost = {"nodes": [node], "edges": [{**edge, "to": "nobody"}]}
    one_line(service.post("/predict/new", lost), 422, 'leave such edges out with "unknown_edges": "drop"')
    assert service.post("/predict/new", {**lost, "unknown_edges": "drop"}).json()["notes"]
    one_line(service.post("/predict/new", {"nodes": [{**node, "who": known}]}), 422, "must be new")
    one_line(service.client.get("/nothing"), 404, "Not Found: GET /nothing")
    one_line(service.client.delete("/predict"), 405, "Method Not Allowed")


def test_what_is_no_json_or_too_large(service: Service) -> None:
    kind = {"content-type": "application/json"}
    one_line(service.client.post("/predict", content=b'{"ids": [', headers=kind), 400, "The body must be JSON")
    one_line(service.client.post("/predict", content=b"[" * 50_000, headers=kind), 400, "parsing the body")
    one_line(service.client.post("/predict", content=b"\xff\xfe", headers=kind), 400, "")
    one_line(service.client.post("/predict", content=b"{}"), 415, "must be application/json")
    one_line(service.client.post("/predict", content=b" " * 60_001, headers=kind), 413, "at most 60,000 bytes")
    parts = (b" " * 1000 for _ in range(70))
    one_line(service.client.post("/predict", content=parts, headers=kind), 413, "at most 60,000 bytes")
    assert service.client.get("/health").status_code == 200


def test_other_names_than_its_own_are_refused(service: Service) -> None:
    """So that a page of another site whose name was made to point here reads nothing."""
    one_line(service.client.get("/health", headers={"host": "example.org"}), 421, "Got the Host 'example.org'")
    port = service.client.base_url.port
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert service.client.get("/health", headers={"host": f"{name}:{port}"}).status_code == 200
    answer = service.client.get("/health", headers={"origin": "http://example.org"})
    assert "access-control-allow-origin" not in answer.headers


def test_a_request_must_be_whole_in_time_and_leaves_room_for_others(folder: Path) -> None:  # noqa: F811
    slow = Service(folder / "run", "--max-seconds", "1", "--max-requests", "1")
    address = (slow.client.base_url.host, slow.client.base_url.port)
    with socket.create_connection(address) as connection:
        head = (
            f"POST /predict HTTP/1.1\r\nHost: {address[0]}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
        )
        connection.sendall(head.encode() + b"\r\n{")
        while (answer := slow.client.get("/health")).status_code != 503:
            pass  # until the first one is under way
        one_line(answer, 503, "1 requests under way already")
        assert answer.headers["retry-after"] == "1"
        assert connection.makefile().readline().startswith("HTTP/1.1 408 ")
    while slow.client.get("/health").status_code != 200:
        pass
    done = slow.end(signal.SIGINT)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Ended."
    assert "Traceback" not in done.stderr


def test_it_listens_on_this_machine_alone_and_ends_when_it_is_told(folder: Path) -> None:  # noqa: F811
    started = Service(folder / "auto")
    assert started.client.base_url.host == "127.0.0.1"
    listening = Path("/proc/net/tcp")
    if listening.is_file():
        port = f":{started.client.base_url.port:04X}"
        bound = [line.split()[1] for line in listening.read_text().splitlines() if line.split()[3] == "0A"]
        assert [each for each in bound if each.endswith(port)] == [f"0100007F{port}"]
    served = started.client.get("/model").json()
    assert (served["model"], set(served["baselines"])) == ("an automatic ensemble", {"constant", "logistic regression"})
    started.client.get("/he%0Aalth%1B[31m", params={"id": "a secret"})
    done = started.end()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "Ended.")
    lines = done.stderr.splitlines()
    assert [line.split()[2:6] for line in lines[-2:]] == [
        ["127.0.0.1", "GET", "/model", "200"],
        ["127.0.0.1", "GET", r"/he\nalth\x1b[31m", "404"],
    ]
    assert "secret" not in done.stderr


def test_other_addresses_are_warned_about_and_what_cannot_be_is_refused(folder: Path) -> None:  # noqa: F811
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        *[True] * 3,
        *[False] * 2,
    ]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", str(folder / "run"), "--port", port, code=2)
        assert done.stderr.startswith(f"error: --host 127.0.0.1 --port {port} cannot be listened on: ")
        done = run("serve", str(folder / "run"), "--host", "192.0.2.1", "--port", port, code=2)  # of no machine
    assert done.stderr.startswith("warning: --host 192.0.2.1 lets everyone who reaches it ask this model")
    done = run("serve", str(folder / "run"), "--max-nodes", "0", code=2)
    assert done.stderr == "error: --max-nodes must be a positive number. Got 0 instead.\n"
    done = run("serve", str(folder), code=2)
    assert "holds no trained model" in done.stderr
