"""``python -m glognn``, and the ``glognn`` command: an interrupt says one line from the first import on."""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from glognn.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
