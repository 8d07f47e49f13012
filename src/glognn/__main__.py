"""``python -m glognn``."""

from glognn.cli.main import main

main()
