"""The ``glognn`` command. Importing it, and asking for help, loads no torch."""

from __future__ import annotations

import logging
import platform
import sys
import tempfile
import traceback
import warnings
from typing import Annotated, Any

import typer

import glognn
from glognn.cli import (
    audit,
    bench,
    datasets,
    doctor,
    evaluate,
    explain,
    explore,
    leaderboard,
    models,
    portfolio,
    predict,
    report,
    reproduce,
    runs,
    serve,
    shard,
    train,
    tune,
    verify,
)
from glognn.cli.options import help_text
from glognn.errors import DataWarning, GloGNNError, InputError
from glognn.report.text import visible
from glognn.settings import nearest

app = typer.Typer(
    name="glognn",
    help=(
        "Node classification on graphs whose linked nodes differ, with GloGNN and GloGNN++.\n\n"
        "Start with [bold]glognn train[/bold]: it needs no data and takes half a minute. "
        "[bold]glognn models[/bold] explains every model and setting, [bold]glognn datasets[/bold] every dataset."
    ),
    invoke_without_command=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
_COMMANDS = {
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "explain": explain,
    "explore": explore,
    "audit": audit,
    "serve": serve,
    "leaderboard": leaderboard,
    "report": report,
    "reproduce": reproduce,
    "tune": tune,
    "runs": runs,
    "verify": verify,
    "shard": shard,
    "datasets": datasets,
    "models": models,
    "doctor": doctor,
    "bench": bench,
}
_PANELS = {
    "Your graph": ("train", "predict", "evaluate", "explain", "explore", "audit", "leaderboard", "report", "serve"),
    "What there is": ("datasets", "models", "runs", "verify", "doctor"),
    "Research": ("tune", "reproduce", "portfolio", "bench", "shard"),
}
_PANEL_OF = {command: panel for panel, commands in _PANELS.items() for command in commands}
_NEXT = """glognn {version}: node classification on graphs whose linked nodes differ.

Try it, without data, in half a minute:
  glognn train

Your own graph, as a table of nodes and a table of edges:
  glognn train --nodes nodes.csv --edges edges.csv --label COLUMN --out runs/mine
  glognn predict runs/mine --out predictions.csv
  glognn evaluate runs/mine
  glognn explore runs/mine        a page to look around in: what was predicted, and why

A published graph, and several models on it:
  glognn train --dataset texas --model glognn++ --model gcn --model mlp

What there is:
  glognn datasets                 datasets by name
  glognn models                   models, and with a name all settings of one
  glognn runs                     what has been run
  glognn doctor                   whether this installation is in order
  glognn --help                   all commands; glognn COMMAND --help explains one
  glognn --install-completion     lets the shell complete commands, flags and names"""
_DEBUG = "--debug"
_INTERRUPTED = 130

for _name, _room in _COMMANDS.items():
    app.command(_name, help=help_text(_room.command), rich_help_panel=_PANEL_OF.get(_name))(_room.command)
app.add_typer(portfolio.app, name="portfolio", rich_help_panel=_PANEL_OF["portfolio"])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glognn {glognn.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option(_DEBUG, help="Show the traceback of an error, too. It may stand anywhere in the line.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(_NEXT.format(version=glognn.__version__))


def main() -> None:
    """Run the command line: one-line errors, exit code 2 for wrong input, 1 for failures, 130 when interrupted."""
    _speak_plainly()
    arguments = [word for word in sys.argv[1:] if word != _DEBUG]
    try:
        code = app(arguments, prog_name="glognn", standalone_mode=False)
        if code == _INTERRUPTED:  # what typer makes of a KeyboardInterrupt
            raise KeyboardInterrupt
    except (KeyboardInterrupt, typer.Abort):
        code = _fail("interrupted.", _INTERRUPTED)
    except Exception as error:
        if _DEBUG in sys.argv[1:]:
            traceback.print_exception(error)
        code = _explain(error)
    sys.exit(code or 0)


def _explain(error: Exception) -> int:
    """Say in one line what is wrong; the exit code."""
    if isinstance(error, GloGNNError | OSError):
        return _fail(str(error) or type(error).__name__, 2 if isinstance(error, InputError) else 1)
    # Usage errors come from the parser inside typer, whose class has moved between versions.
    if hasattr(error, "format_message"):
        return _fail(_usage(error), getattr(error, "exit_code", 2))
    from glognn.training.preflight import ran_out

    if ran_out(error):
        return _fail(f"Memory ran out. {error}", 1)
    return _fail(f"{type(error).__name__}: {error} (an error in glognn itself; {_keep(error)})", 1)


def _usage(error: Any) -> str:
    """A usage error of the parser; of a flag there is not, the nearest one."""
    wrong, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if not hasattr(error, "possibilities") or wrong is None or context is None:
        return str(error.format_message())
    flags = [name for parameter in context.command.params for name in (*parameter.opts, *parameter.secondary_opts)]
    more = f" '{context.command_path} --help' lists what there is."
    return f"There is no flag '{wrong}'.{nearest(wrong, [name for name in flags if name.startswith('--')]) or more}"


def _keep(error: Exception) -> str:
    """Write the traceback of an error nobody foresaw into a file; where it is, in words."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="glognn-error-", suffix=".txt", encoding="utf-8", errors="backslashreplace", delete=False
        ) as file:
            file.write(f"glognn {glognn.__version__}, Python {platform.python_version()}, {platform.platform()}\n")
            file.write(f"{sys.argv[1:]!r}\n\n{''.join(traceback.format_exception(error))}")
    except OSError:
        return f"{_DEBUG} shows where"
    return f"'{file.name}' says where, and so does {_DEBUG}"


class _Visible(logging.Formatter):
    """Names of files and addresses in it are no commands to the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def _speak_plainly() -> None:
    """What concerns data goes to the terminal as one line, without the place in the code it comes from."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            typer.echo(visible(f"warning: {message}"), err=True)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    handler = logging.StreamHandler()
    handler.setFormatter(_Visible("%(message)s"))
    logger = logging.getLogger("glognn.data")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _fail(message: str, code: int) -> int:
    typer.echo(visible(f"error: {' '.join(message.split())}"), err=True)
    return code
