"""The ``glognn`` command. Importing it, and asking for help, loads no torch."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Annotated, Any

import typer

import glognn
from glognn.cli import bench, datasets, evaluate, models, predict, reproduce, runs, train, tune
from glognn.cli.options import help_text
from glognn.errors import DataWarning, GloGNNError, InputError

app = typer.Typer(
    name="glognn",
    help=(
        "Node classification on graphs whose linked nodes differ, with GloGNN and GloGNN++.\n\n"
        "Start with [bold]glognn train[/bold]: it needs no data and takes half a minute. "
        "[bold]glognn models[/bold] explains every model and setting, [bold]glognn datasets[/bold] every dataset."
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
_COMMANDS = {
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "reproduce": reproduce,
    "tune": tune,
    "runs": runs,
    "datasets": datasets,
    "models": models,
    "bench": bench,
}

for _name, _room in _COMMANDS.items():
    app.command(_name, help=help_text(_room.command))(_room.command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"glognn {glognn.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line: one-line errors, exit code 2 for wrong input, 1 for failures, 130 when interrupted."""
    _speak_plainly()
    try:
        code = app(prog_name="glognn", standalone_mode=False)
    except InputError as error:
        code = _fail(str(error), 2)
    except GloGNNError as error:
        code = _fail(str(error), 1)
    except OSError as error:
        code = _fail(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        code = _fail("interrupted.", 130)
    except Exception as error:
        code = _explain(error)
    sys.exit(code or 0)


def _explain(error: Exception) -> int:
    from glognn.training.preflight import ran_out

    if ran_out(error):
        return _fail(f"Memory ran out. {error}", 1)
    # Usage errors come from the parser inside typer, whose class has moved between versions.
    if not hasattr(error, "format_message"):
        raise error
    return _fail(error.format_message(), getattr(error, "exit_code", 2))


def _speak_plainly() -> None:
    """What concerns data goes to the terminal as one line, without the place in the code it comes from."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            typer.echo(f"warning: {message}", err=True)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("glognn.data")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _fail(message: str, code: int) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return code
