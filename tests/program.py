"""Programs in processes of their own, without the seconds that each would take to import torch.

On Linux a server imports everything once and forks at each call: arguments, folder, environment, output, signals and
exit code are those of a program started by itself. Elsewhere each call starts Python anew.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.conftest import ENVIRONMENT

GLOGNN = "from glognn.cli.main import main\nmain()"
"""The command line, as code."""

KILLED = """
import os, signal
from pathlib import Path

replace, left = Path.replace, int(os.environ["KILLED_AT"])

def count(temporary, target):
    global left
    left -= Path(target).parent.name == "checkpoint"
    if left == 0 and (share := os.environ.get("HALF_WRITTEN")):
        os.truncate(temporary, int(float(share) * temporary.stat().st_size))
    else:
        replace(temporary, target)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Path.replace = count
""" + GLOGNN  # fmt: skip
"""The command line, killed (SIGKILL) after it has written so many checkpoints (``KILLED_AT``), or with ``HALF_WRITTEN``
in the middle of writing the last of them, when that share of it is on the disk."""

DISTURBED = """
import errno, os, resource, signal, sys

KIND, AT, HERE = os.environ["DISTURBED"], int(os.environ["DISTURBED_AT"]), os.getcwd() + os.sep
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
STEPS = {"os.mkdir", "os.rename", "os.chmod", "os.truncate", "os.symlink", "os.link", "fsync", "os.remove", "os.rmdir"}
seen, limits, fsync = 0, resource.getrlimit(resource.RLIMIT_FSIZE), os.fsync

def place(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        path = arguments[0]
    elif event in STEPS:
        path = arguments[event in ("os.rename", "os.symlink", "os.link")]
    else:
        return None
    if isinstance(path, int):
        path = os.readlink(f"/proc/self/fd/{path}")
    path = os.path.abspath(os.fsdecode(path))
    return path if path.startswith(HERE) else None

def step(event, arguments):
    global seen
    if (path := place(event, arguments)) is None:
        return
    seen += 1
    short = resource.getrlimit(resource.RLIMIT_FSIZE) != limits
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if KIND == "listed":
        os.write(2, f"{event} {path[len(HERE):]}\\n".encode())
    elif KIND == "killed" and seen == AT or KIND == "killed short" and short:
        os.kill(os.getpid(), signal.SIGKILL)
    elif KIND in ("short", "killed short") and seen == AT:
        size = os.stat(path).st_size if os.path.exists(path) else 0
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
    elif (KIND == "once" and seen == AT or KIND == "full" and seen >= AT) and event not in ("os.remove", "os.rmdir"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

def synced(handle):
    sys.audit("fsync", handle)
    fsync(handle)

class Screen:
    def __init__(self, file):
        self.file = file
    def write(self, text):
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return self.file.write(text)
    def __getattr__(self, name):
        return getattr(self.file, name)

os.fsync, sys.stdout, sys.stderr = synced, Screen(sys.stdout), Screen(sys.stderr)
sys.addaudithook(step)
"""
"""To be put before a program (on Linux): disturbs it at step ``DISTURBED_AT`` of its writing below its folder.

Steps are what Python tells its audit hooks of: files opened for writing, folders made, names changed and removed, modes
set; and files synced. ``DISTURBED`` says how: ``listed`` writes all of them to the standard error; ``killed`` (SIGKILL)
before the step; ``once`` and ``full`` make the step, or all from it on, fail as on a full disk; ``short`` lets the
system take ten bytes more in the file that is opened, until the next step; ``killed short`` is both.
"""

_SERVER = """
import contextlib, functools, gc, io, json, os, resource, signal, sys, traceback, warnings
with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
    warnings.simplefilter("ignore")
    import matplotlib.backends.backend_agg, matplotlib.figure, optuna, scipy.stats, sklearn.metrics, tomli_w
    import pyarrow.csv, pyarrow.feather, pyarrow.parquet, sklearn.linear_model, sklearn.manifold, typer.main
    import glognn.bench.suite, glognn.cli.main, glognn.cli.progress, glognn.estimator, glognn.experiments.journal
    import glognn.experiments.pruning, glognn.experiments.studies, glognn.report.curves, glognn.report.dataset
    import glognn.report.exploration, glognn.report.figures, glognn.report.html, glognn.report.markdown
    import glognn.report.overview, glognn.report.reproduction, glognn.report.study
    import glognn.report.terminal
    typer.main.get_command = functools.cache(typer.main.get_command)
    glognn.cli.main.app(["models", "--names"], standalone_mode=False)  # what the parser loads at its first use
    for command in typer.main.get_command(glognn.cli.main.app).commands.values():
        for parameter in command.params:
            getattr(parameter, "get_runtime_param", int)()  # and makes of types, in the versions that do
    from glognn.models.configs import MODELS
    for config in MODELS.values():
        config.model_class()
    with contextlib.suppress(ImportError):
        import glognn.serve.server
warnings.filterwarnings("ignore", ".*fork")
gc.collect()
gc.freeze()  # what is there stays where it is: no process has to look through it, or to copy it

def become(call):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["environment"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in ((1, call["out"]), (2, call["err"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if call["largest_file"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (call["largest_file"],) * 2)
    sys.argv = call["arguments"]
    code = 0
    try:
        exec(compile(call["code"], "<program>", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        if isinstance(stop.code, str):
            sys.stderr.write(stop.code + "\\n")
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    call = json.loads(line)
    if "code" in call:
        answer = os.fork()
        if not answer:
            become(call)
    else:
        ended, status = os.waitpid(call["pid"], os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if ended else None
    print(json.dumps(answer), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _SERVER]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    atexit.register(server.communicate)
    return server


def _ask(call: dict[str, Any]) -> Any:
    server = _server()
    pipe: tuple[IO[str] | None, IO[str] | None] = server.stdin, server.stdout
    assert pipe[0] is not None
    assert pipe[1] is not None
    pipe[0].write(json.dumps(call) + "\n")
    pipe[0].flush()
    return json.loads(pipe[1].readline())


class Program:
    """A running program: ``code`` in a new process, with ``arguments`` as ``sys.argv[1:]``."""

    def __init__(
        self,
        code: str,
        *arguments: str,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        largest_file: int = 0,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="glognn-program-")
        self._out, self._err = (Path(self._folder.name) / name for name in ("out", "err"))
        for path in (self._out, self._err):
            path.touch()  # a program killed at once has opened neither
        self._process: subprocess.Popen[str] | None = None
        self._code: int | None = None
        settings = {**ENVIRONMENT, **(environment or {})}
        if sys.platform == "linux":
            where = {"cwd": str(cwd or Path.cwd()), "out": str(self._out), "err": str(self._err)}
            call = {"code": code, "arguments": ["glognn", *arguments], "largest_file": largest_file}
            self.pid: int = _ask(where | call | {"environment": settings})
        else:
            with self._out.open("w") as out, self._err.open("w") as err:
                command = [sys.executable, "-c", code, *arguments]
                self._process = subprocess.Popen(command, cwd=cwd, env=settings, stdout=out, stderr=err, text=True)
            self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        if self._code is None:
            self._code = self._process.poll() if self._process else _ask({"pid": self.pid})
        return self._code

    def output(self) -> str:
        """What it has written so far to its standard output."""
        return self._out.read_text(encoding="utf-8")

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Wait for its end; exit code and output."""
        while (code := self.poll()) is None:
            time.sleep(0.005)
        out, err = (path.read_text(encoding="utf-8") for path in (self._out, self._err))
        return subprocess.CompletedProcess([], code, out, err)


def run(
    *arguments: str, cwd: Path | None = None, code: int | None = 0, program: str = GLOGNN, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line, or another program; ``code`` is the exit code it must end with, if any."""
    done = Program(program, *arguments, cwd=cwd, environment=environment).wait()
    assert code is None or done.returncode == code, done.stderr
    return done
