"""Files that are damaged, forged or missing, and servers that fail: clear errors, a clean cache, and recovery."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from glognn.data import entry, fetch
from glognn.data.catalog import DATASETS
from glognn.data.entry import Dataset, PublishedFile
from glognn.data.sources import load_dataset
from glognn.errors import DataWarning, InputError, MissingFileError
from tests.conftest import ENVIRONMENT
from tests.data.readers.test_pickles import attacks


@dataclass
class Site:
    """A web site on this machine: files by path, and how often each was asked for."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    failures: int = 0
    cut: bool = False


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            if found.failures:
                found.failures -= 1
                self.send_error(503)
            elif self.path not in found.files:
                self.send_error(404)
            else:
                content = found.files[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if found.cut else content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Site(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


def minesweeper(num_nodes: int = 30) -> bytes:
    """A small graph in the .npz format of heterophilous-graphs."""
    file = io.BytesIO()
    part = np.arange(num_nodes) % 3
    masks = {
        f"{name}_masks": np.stack([part == k, part == (k + 1) % 3]) for k, name in enumerate(("train", "val", "test"))
    }
    np.savez(
        file,
        node_features=np.eye(num_nodes, 7),
        node_labels=np.arange(num_nodes) // 2 % 2,
        edges=np.stack([np.arange(num_nodes - 1), np.arange(1, num_nodes)]).T,
        **masks,
    )
    return file.getvalue()


def publish(
    monkeypatch: pytest.MonkeyPatch, site: Site, *, known: bool = True, name: str = "minesweeper", content: bytes = b""
) -> PublishedFile:
    """Put a dataset's one file on the site; with ``known`` its checksum is in the catalog."""
    content = content or minesweeper()
    file = PublishedFile(f"somewhere/{name}.npz", f"{site.address}/{name}.npz")
    site.files[f"/{name}.npz"] = content
    sums = {file.path: hashlib.sha256(content).hexdigest()} if known else {}
    monkeypatch.setattr(entry, "_checksums", lambda: sums)
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], files={"graph": file}))
    return file


def kept(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_downloads_once_and_checks_every_time(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site)
    data = load_dataset("minesweeper")
    assert (data.num_nodes, data.train_mask.shape) == (30, (30, 2))
    assert kept(cache) == ["somewhere/minesweeper.npz"]
    load_dataset("minesweeper")
    assert len(site.asked) == 1


def test_a_failing_server_is_asked_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site)
    site.failures = 2
    assert load_dataset("minesweeper").num_nodes == 30
    assert len(site.asked) == 3


def test_a_terminal_shows_progress(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(monkeypatch, site)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert load_dataset("minesweeper").num_nodes == 30
    assert "minesweeper.npz" in capsys.readouterr().err


def spoil_download_failing(site: Site, file: PublishedFile, cache: Path) -> None:
    site.failures = 99


def spoil_download_cut(site: Site, file: PublishedFile, cache: Path) -> None:
    site.cut = True


def spoil_download_forged(site: Site, file: PublishedFile, cache: Path) -> None:
    site.files["/minesweeper.npz"] = minesweeper(31)


def spoil_download_page(site: Site, file: PublishedFile, cache: Path) -> None:
    site.files["/minesweeper.npz"] = b"<html>Quota exceeded</html>"


def spoil_download_empty(site: Site, file: PublishedFile, cache: Path) -> None:
    site.files["/minesweeper.npz"] = b""


def spoil_gone(site: Site, file: PublishedFile, cache: Path) -> None:
    site.files.clear()


DOWNLOADS: list[tuple[Callable[[Site, PublishedFile, Path], None], bool, str]] = [
    (spoil_download_failing, True, "could not be downloaded in 3 tries: 503"),
    (spoil_download_cut, True, "could not be downloaded in 3 tries: .*Incomplete"),
    (spoil_download_cut, False, "could not be downloaded in 3 tries: .*Incomplete"),
    (spoil_download_forged, True, "is not the published file: its sha256 must be [0-9a-f]{64}. Got [0-9a-f]{64}"),
    (spoil_download_page, True, "is not the published file"),
    (spoil_download_page, False, "'somewhere/minesweeper.npz' cannot be read: .* removed from the cache"),
    (spoil_download_empty, False, "'somewhere/minesweeper.npz' cannot be read: .* removed from the cache"),
    (spoil_gone, True, "answers 404: it is gone. Put it by hand at .*cache/somewhere/minesweeper.npz"),
]


@pytest.mark.parametrize(("spoil", "known", "message"), DOWNLOADS, ids=[f"{s.__name__}-{k}" for s, k, _ in DOWNLOADS])
def test_bad_downloads_leave_nothing_and_the_next_run_recovers(
    spoil, known: bool, message: str, site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = publish(monkeypatch, site, known=known)
    spoil(site, file, cache)
    with pytest.raises(InputError, match=message):
        load_dataset("minesweeper")
    assert kept(cache) == []
    site.failures, site.cut, site.files = 0, False, {"/minesweeper.npz": minesweeper()}
    assert load_dataset("minesweeper").num_nodes == 30


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_damage_in_the_cache_is_noticed_and_repaired(
    known: bool, damage: str, site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    publish(monkeypatch, site, known=known)
    load_dataset("minesweeper")
    path = cache / "somewhere/minesweeper.npz"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes({"cut": minesweeper()[:300], "changed": bytes(content), "empty": b""}[damage])
    assert load_dataset("minesweeper").num_nodes == 30
    assert "its sha256 must be" in caplog.text
    assert len(site.asked) == 2
    assert path.read_bytes() == minesweeper()


def test_damage_in_the_cache_without_a_network(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site)
    load_dataset("minesweeper")
    (cache / "somewhere/minesweeper.npz").write_bytes(b"broken")
    site.failures = 99
    for _ in range(2):  # noticed each time, never used
        with pytest.raises(InputError, match="could not be downloaded"):
            load_dataset("minesweeper")
    site.failures = 0
    assert load_dataset("minesweeper").num_nodes == 30


def in_mirror(tmp_path: Path, file: PublishedFile, content: bytes, suffix: str = "") -> Path:
    path = tmp_path / "mirror" / f"{file.path}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return tmp_path / "mirror"


def test_a_mirror_is_read_in_place_and_nothing_is_downloaded(
    site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = publish(monkeypatch, site)
    mirror = in_mirror(tmp_path, file, minesweeper())
    assert load_dataset("minesweeper", mirror=mirror).num_nodes == 30
    monkeypatch.setenv("GLOGNN_MIRROR", str(mirror))
    assert load_dataset("minesweeper").num_nodes == 30
    assert site.asked == []
    assert kept(cache) == []


def test_a_compressed_file_of_a_mirror_is_unpacked_into_the_cache(
    site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = publish(monkeypatch, site)
    mirror = in_mirror(tmp_path, file, gzip.compress(minesweeper()), ".gz")
    assert load_dataset("minesweeper", mirror=mirror).num_nodes == 30
    assert kept(cache) == [file.path]


@pytest.mark.parametrize(
    ("content", "suffix", "message"),
    [
        (minesweeper(31), "", "is not the published file: its sha256 must be .* Replace it in the mirror"),
        (minesweeper()[:500], "", "is not the published file"),
        (gzip.compress(minesweeper(31)), ".gz", "is not the published file"),
        (gzip.compress(minesweeper())[:-20], ".gz", "no readable gzip file.* Replace it in the mirror"),
        (b"not gzip", ".gz", "no readable gzip file"),
        (b"", ".gz", "is not the published file"),
    ],
    ids=["forged", "cut", "forged in gzip", "cut gzip", "no gzip", "empty"],
)
def test_bad_files_in_a_mirror(
    content: bytes, suffix: str, message: str, site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = publish(monkeypatch, site)
    mirror = in_mirror(tmp_path, file, content, suffix)
    with pytest.raises(InputError, match=message):
        load_dataset("minesweeper", mirror=mirror)
    assert kept(cache) == []
    shutil.rmtree(mirror)
    in_mirror(tmp_path, file, minesweeper())
    assert load_dataset("minesweeper", mirror=mirror).num_nodes == 30


def test_what_is_missing_from_a_mirror_is_named(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site)
    (tmp_path / "mirror").mkdir()
    with pytest.raises(MissingFileError, match=r"Put it at .*mirror/somewhere/minesweeper.npz .published at http"):
        load_dataset("minesweeper", mirror=tmp_path / "mirror")
    with pytest.raises(InputError, match="The data mirror must be a folder. Got 'nowhere' instead"):
        load_dataset("minesweeper", mirror="nowhere")


def test_files_no_longer_published_say_where_to_put_them(cache: Path) -> None:
    with pytest.raises(MissingFileError, match=r"'linkx/pokec.mat' is not on this machine. It was a Google Drive file"):
        load_dataset("pokec")
    with pytest.raises(MissingFileError, match=r"Put it by hand at .*cache/linkx/snap_patents.mat"):
        load_dataset("snap-patents")


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def publish_archive(monkeypatch: pytest.MonkeyPatch, site: Site, content: bytes) -> None:
    site.files["/data.zip"] = content
    file = PublishedFile("somewhere/minesweeper.npz", f"{site.address}/data.zip", "inner/graph.npz")
    monkeypatch.setitem(DATASETS, "minesweeper", replace(DATASETS["minesweeper"], files={"graph": file}))


def test_archives_cannot_write_outside_the_cache(
    site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = {"../../evil.txt": b"evil", "/tmp/evil.txt": b"evil", "inner/../../evil": b"evil"}
    publish_archive(monkeypatch, site, zipped(**{"inner/graph.npz": minesweeper()}, **evil))
    assert load_dataset("minesweeper").num_nodes == 30
    assert [name for name in kept(cache) if not name.endswith(".sha256")] == [
        "somewhere/data.zip",
        "somewhere/minesweeper.npz",
    ]
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "no readable 'inner/graph.npz': File is not a zip file"),
        (zipped(other=b"x"), "no readable 'inner/graph.npz'"),
        (zipped(**{"inner/graph.npz": minesweeper()})[:-40], "no readable 'inner/graph.npz'"),
        (zipped(**{"inner/graph.npz": b"not an array"}), "cannot be read: .* removed from the cache"),
    ],
    ids=["no archive", "other content", "cut", "broken inside"],
)
def test_bad_archives(content: bytes, message: str, site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_archive(monkeypatch, site, content)
    with pytest.raises(InputError, match=message):
        load_dataset("minesweeper")
    assert kept(cache) == []
    site.files["/data.zip"] = zipped(**{"inner/graph.npz": minesweeper()})
    assert load_dataset("minesweeper").num_nodes == 30


def test_an_archive_in_a_mirror(site: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_archive(monkeypatch, site, b"")
    folder = tmp_path / "mirror" / "somewhere"
    folder.mkdir(parents=True)
    (folder / "data.zip").write_bytes(zipped(**{"inner/graph.npz": minesweeper()}))
    assert load_dataset("minesweeper", mirror=tmp_path / "mirror").num_nodes == 30
    assert site.asked == []


def bad_mat(**changes: object) -> Callable[[Path], None]:
    good = {"edge_index": np.array([[0, 1], [1, 2]]), "node_feat": np.ones((3, 12)), "label": np.array([0, 1, 0])}

    def write(path: Path) -> None:
        savemat(path, {name: value for name, value in (good | changes).items() if value is not None})

    return write


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"MATLAB 5.0" + bytes(300)), "cannot be read"),
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (bad_mat(label=None), "cannot be read: KeyError: 'label'"),
        (bad_mat(label=np.array([0, 1])), "2 labels for 3 nodes"),
        (bad_mat(edge_index=np.array([["a", "b"], ["c", "d"]])), "cannot be read: ValueError"),
    ],
    ids=["garbage", "empty", "no labels", "too few labels", "letters for edges"],
)
def test_wrong_content_without_a_checksum(write, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mirror" / "linkx" / "genius.mat"
    path.parent.mkdir(parents=True)
    write(path)
    with pytest.raises(InputError, match=message):
        load_dataset("genius", mirror=tmp_path / "mirror")
    assert path.exists()  # a mirror is never changed


@pytest.mark.parametrize("name", attacks(Path("x")))
def test_malicious_splits_of_a_dataset(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / "linkx"
    (folder / "splits").mkdir(parents=True)
    bad_mat()(folder / "genius.mat")
    mark = tmp_path / "mark"
    array = np.empty(1, dtype=object)
    array[0] = attacks(mark)[name]
    np.save(folder / "splits" / "genius-splits.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=r"genius: 'linkx/splits/genius-splits.npy' cannot be read: it asks to call"):
        load_dataset("genius", mirror=tmp_path / "mirror")
    assert not mark.exists()


def test_splits_that_name_no_node(tmp_path: Path) -> None:
    folder = tmp_path / "mirror" / "linkx"
    (folder / "splits").mkdir(parents=True)
    bad_mat()(folder / "genius.mat")
    splits = np.array([{"train": [0], "valid": [1], "test": [3]}], dtype=object)
    np.save(folder / "splits" / "genius-splits.npy", splits, allow_pickle=True)
    with pytest.raises(InputError, match="the test set of split 0 names a node outside 0 to 2"):
        load_dataset("genius", mirror=tmp_path / "mirror")


def test_a_file_put_into_the_cache_by_hand_is_never_removed(cache: Path) -> None:
    path = cache / "linkx" / "pokec.mat"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"the only copy, in a form we cannot read")
    with pytest.raises(InputError, match=r"pokec: 'linkx/pokec.mat' cannot be read"):
        load_dataset("pokec")
    assert path.read_bytes().startswith(b"the only copy")
    archive = cache / "linkx" / "twitch_gamers.zip"
    archive.write_bytes(b"no archive")
    with pytest.raises(InputError, match="has no readable 'large_twitch_edges.csv': .* Replace it"):
        load_dataset("twitch-gamers")
    assert archive.exists()


def test_a_cache_that_cannot_be_written(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, site)
    cache.write_text("a file, not a folder")
    with pytest.raises(InputError, match="The data cache .* cannot be written: .*Set GLOGNN_DATA"):
        load_dataset("minesweeper")


def test_what_a_kill_left_behind_is_removed(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = publish(monkeypatch, site)
    left = cache / "somewhere" / ".minesweeper.npz.abc.tmp"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    load_dataset("minesweeper")
    assert kept(cache) == [file.path]


def test_a_kill_during_a_download_leaves_no_file_of_that_name(site: Site, tmp_path: Path) -> None:
    """SIGKILL in the middle of a body that never ends."""
    script = f"""
import threading, time, os, signal
from glognn.data.entry import PublishedFile
from glognn.data import fetch
file = PublishedFile("somewhere/x.bin", "{site.address}/x.bin")
def stop():
    while not list(fetch.cache_dir().glob("somewhere/.x.bin.*.tmp")):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=stop, daemon=True).start()
fetch.fetch(file)
"""
    site.files["/x.bin"] = bytes(200_000_000)
    environment = ENVIRONMENT | {"GLOGNN_DATA": str(tmp_path / "killed")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert done.returncode == -9
    assert not (tmp_path / "killed/somewhere/x.bin").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path, cache: Path) -> None:
    names = ["-subj", "/CN=localhost", "-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names],
        check=True,
        capture_output=True,
    )
    server = ThreadingHTTPServer(("localhost", 0), BaseHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.raises(InputError, match="CERTIFICATE_VERIFY_FAILED"):
        fetch.fetch(PublishedFile("x", f"https://localhost:{server.server_port}/x"))
    assert kept(cache) == []
    server.shutdown()
    server.server_close()


def test_random_splits_only_where_the_published_ones_are_gone(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file that is gone is replaced by random splits with a warning; a server that fails is an error."""
    bad_mat()(tmp_path / "genius.mat")
    site.files["/genius.mat"] = (tmp_path / "genius.mat").read_bytes()
    entry: Dataset = replace(
        DATASETS["genius"],
        files={"graph": PublishedFile("genius.mat", f"{site.address}/genius.mat")},
        splits=(PublishedFile("splits.npy", f"{site.address}/splits.npy"),),
    )
    monkeypatch.setitem(DATASETS, "genius", entry)
    with pytest.warns(DataWarning, match="answers 404"):
        load_dataset("genius")
    site.failures = 3
    with pytest.raises(InputError, match="could not be downloaded"):
        load_dataset("genius")
