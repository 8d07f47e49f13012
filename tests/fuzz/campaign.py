# ruff: noqa: T201
"""Damage and read files for some minutes, in processes that may crash, hang or take too much memory.

What goes wrong is kept in a folder with the file that did it, and the command that does it again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import itertools
import multiprocessing
import resource
import signal
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.targets import Fuzzer

MOST_MEMORY = 6 * 2**30
"""Bytes that a process may hold. The system is not told of them: libraries that are refused memory here and there are
another thing to test than files are.
"""

MOST_SECONDS = 60
"""Of computing, for one file; a process that takes more is ended by the system."""


def _work(names: list[str], first: int, told: Any) -> None:
    """Damage files, of every kind for as long as of the others; each is told before and after it is read."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fuzzer, spent = Fuzzer(), dict.fromkeys(names, 0.0)
    for seed in itertools.count(first):
        name = min(names, key=lambda each: spent[each])
        started = time.perf_counter()
        content = fuzzer.damage(name, seed)
        told.send((name, content, None))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime) + MOST_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                fuzzer.read(name, content)
            told.send((name, None, ""))
        except BaseException:
            told.send((name, None, traceback.format_exc()))
        spent[name] += time.perf_counter() - started


def _held(process: int | None) -> int:
    """Bytes that a process holds now; 0 where that cannot be known."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _keep(folder: Path, name: str, content: bytes, why: str, number: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace(' ', '-').replace(',', '')}-{number}"
    path.write_bytes(content)
    path.with_name(f"{path.name}.txt").write_text(why)
    print(
        f"{name}: {why.strip().splitlines()[-1][:200]}\n  again: python -m tests.fuzz --target '{name}' --file {path}"
    )


def fuzz(names: list[str], seconds: float, seed: int, folder: Path) -> int:
    context = multiprocessing.get_context("spawn")
    cases, wrong, known = Counter[str](), 0, set[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        heard, told = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(names, seed + sum(cases.values()), told), daemon=True)
        worker.start()
        told.close()
        name, content = "", b""
        while time.monotonic() < end:
            held = 0
            if not (ready := heard.poll(0.2)) and worker.is_alive():
                if (held := _held(worker.pid)) <= MOST_MEMORY:
                    continue
                worker.kill()
            try:
                if dead := not ready:  # though a process of its own still holds the pipe
                    raise EOFError
                name, given, why = heard.recv()
            except EOFError:
                worker.join()
                ended = f"died with {worker.exitcode}" if not held else f"held {held / 2**30:.1f} GiB, and was ended"
                dead, given, why = True, None, f"its process {ended}"
            if given is not None:
                content = given
                continue
            cases[name] += 1
            line = (why or "").strip().splitlines()[-1:]
            if why:
                wrong += 1
                place = (
                    name + "".join(each for each in why.splitlines() if "src/glognn" in each)[-120:] + str(line)[:40]
                )
                if place not in known:  # one of a kind is enough to mend it
                    known.add(place)
                    _keep(folder, name, content, why, wrong)
            if dead:
                break
        worker.kill()
        worker.join()
    total = sum(cases.values())
    print(f"{total:,} files of {len(names)} kinds, {total / max(seconds, 1):.0f} a second: {wrong} went wrong")
    for name in names:
        print(f"  {name}: {cases[name]:,}")
    return int(wrong > 0)
