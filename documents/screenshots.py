"""``python -m documents.screenshots SITE OUT``: every page of the built site in a browser, and what is wrong there.

Needs Chromium (``CHROMIUM`` names another command). Pages are opened from the disk, without a network. An error that a
page writes to the console ends this with 1, and so does a search that finds nothing; pictures of the pages lie in OUT.
``--terminal`` draws what commands print as SVG into docs/images instead.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = "1400,1600"
SOUGHT = "homophily"
"""A word that many pages have."""
COMMANDS = {
    "terminal-first": ["glognn"],
    "terminal-train": ["glognn", "train", "--model", "glognn++", "--model", "mlp", "--threads", "1", "--quiet"],
}
_WRONG = re.compile(r"CONSOLE[^\n]*(?:Uncaught|Error|Failed|Refused|net::)[^\n]*")


def browser() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise SystemExit("There is no Chromium: install it, or name it in CHROMIUM.")
    return found


def browse(address: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", *options, address]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def found_by_search(site: Path) -> int:
    """How many pages the site's own search finds, in a browser without a network."""
    asked = f"{(site / 'index.html').as_uri()}?q={SOUGHT}"
    shown = browse(asked, "--virtual-time-budget=20000", "--dump-dom").stdout
    counted = re.search(r'md-search-result__meta">\s*(\d+) matching', shown)
    return int(counted[1]) if counted else 0


def picture(page: Path, out: Path) -> list[str]:
    """Take a picture of a page; what it complains about."""
    out.parent.mkdir(parents=True, exist_ok=True)
    options = ["--hide-scrollbars", "--enable-logging=stderr", f"--window-size={SIZE}", f"--screenshot={out}"]
    done = browse(page.as_uri(), *options)
    return _WRONG.findall(done.stderr) + ([] if out.is_file() else ["no picture was made"])


def terminal(command: list[str]) -> str:
    """What a command prints, as SVG."""
    from rich.console import Console
    from rich.text import Text

    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm-256color"}
    program = [sys.executable, "-m", *command]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {' '.join(command)}\n{done.stdout.rstrip()}"))
    drawn = console.export_svg(title="", unique_id="terminal")
    elsewhere = r"@font-face \{.*?\}\s*|<!-- .*? -->"
    return re.sub(elsewhere, "", drawn, flags=re.DOTALL)


def main() -> int:
    if "--terminal" in sys.argv:
        for drawn, command in COMMANDS.items():
            (ROOT / f"docs/images/{drawn}.svg").write_text(terminal(command), encoding="utf-8")
        return 0
    site, out = (Path(name).resolve() for name in sys.argv[1:3])
    pages = [path for path in sorted(site.rglob("*.html")) if "files" not in path.relative_to(site).parts]
    wrong = 0
    for page in pages:
        name = page.relative_to(site).with_suffix("")
        for line in picture(page, out / f"{name}.png"):
            wrong += 1
            print(f"{name}: {line}")
    found = found_by_search(site)
    print(f"{len(pages)} pages in a browser, {wrong} errors; '{SOUGHT}' found on {found}; pictures in {out}")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    raise SystemExit(main())
