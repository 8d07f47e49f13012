"""The errors a user meets. Each message is one line that names the wrong value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class GloGNNError(Exception):
    """Base class of every error this package raises on purpose."""

    def __str__(self) -> str:
        """One line, whatever a file or another package has put into it."""
        return " ".join(filter(None, map(str.strip, super().__str__().splitlines())))


class InputError(GloGNNError, ValueError):
    """A setting, a file or a graph that cannot be used; the command line exits with code 2."""


class TrainingError(GloGNNError, RuntimeError):
    """Training that cannot go on, such as a loss that is not finite; the command line exits with code 1."""


class NotFiniteError(TrainingError):
    """Numbers that are not finite any more; whoever trains knows why, and ends the sentence."""


class TooLargeError(InputError):
    """A training that is refused because it cannot fit the memory there is."""


class MemoryExhaustedError(TrainingError):
    """Memory ran out in training; what was saved before is kept."""


class BusyError(InputError):
    """A folder that another process is writing to."""


class WriteError(GloGNNError, OSError):
    """A file that cannot be written, as on a full disk, or a database that is lost; what was there before is kept."""


class MissingFileError(InputError):
    """A published file that is not on this machine and cannot be had; the message says where to put it."""


@contextmanager
def about(what: str) -> Iterator[None]:
    """Begin the message of an ``InputError`` with what it is about, where it does not say so itself."""
    try:
        yield
    except InputError as error:
        if what in str(error):
            raise
        raise type(error)(f"{what}: {error}") from None


class DataWarning(UserWarning):
    """Something about a dataset that its user should know."""


class RoundingWarning(DataWarning):
    """Scores that depend on how numbers are rounded, on this graph with these settings."""
