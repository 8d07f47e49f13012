"""A headless Chromium, and a run on tables whose names are HTML; without Chromium tests are skipped, and say so."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from glognn.cli.main import app

HOSTILE = "<script>alert(1)</script>"
CLASSES = ("<b>fraud</b>", "ok")
COUNTRIES = ("</script><img src=x onerror=alert(2)>", "NL", "PL")
_CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8").partition("*/")[2].strip()
_BROWSERS, _DRIVERS = ("chromium", "chromium-browser", "google-chrome"), ("chromedriver", "chromium.chromedriver")


def told(*arguments: object) -> str:
    """What a command says."""
    found = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return found.output


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on tables of 60 nodes."""
    folder = tmp_path_factory.mktemp("pages")
    generator = random.Random(0)
    names = [HOSTILE, *(f"u{number}" for number in range(1, 60))]
    rows = [
        f"{name},{generator.gauss(1 + 4 * (n % 2), 1):.2f},{COUNTRIES[n % 3]},"
        f"2024-02-{n % 28 + 1:02d},{'true' if n % 3 else 'false'},{CLASSES[n % 2] if n % 5 else ''}"
        for n, name in enumerate(names)
    ]
    (folder / "nodes.csv").write_text("\n".join(["id,age <i>,country,since,vip,class", *rows]) + "\n")
    ends = [(generator.choice(names), generator.choice(names)) for _ in range(120)]
    (folder / "edges.csv").write_text("\n".join(["a,b", *(",".join(pair) for pair in ends)]) + "\n")
    options = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv", "--label", "class"]
    told("train", *options, "--model", "glognn++", "--epochs", "15", "--out", folder / "run")
    return folder / "run"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser."""
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = (next(filter(None, map(shutil.which, names)), None) for names in (_BROWSERS, _DRIVERS))
    if browser is None or driver is None:
        pytest.skip("there is no Chromium with its driver on this machine (apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in ("headless=new", "no-sandbox", "window-size=1280,800", "use-angle=swiftshader", "disable-dev-shm-usage",
                 "enable-unsafe-swiftshader", "ignore-gpu-blocklist", "force-prefers-reduced-motion"):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


class Page:
    """A page in the browser, from when it has drawn itself."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.browser = chromium
        chromium.get(address)
        self.wait("document.documentElement.dataset.ready === 'true'")

    def ask(self, script: str, *arguments: Any) -> Any:
        """The value of an expression."""
        return self.browser.execute_script(f"return {script}", *arguments)

    def wait(self, condition: str) -> None:
        for _ in range(1000):
            if self.ask(condition):
                return
            time.sleep(0.02)
        raise AssertionError(f"never true: {condition}")

    def text(self, selector: str) -> str:
        return str(self.ask("document.querySelector(arguments[0]).textContent", selector))

    def keys(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def low_contrast(self) -> list[str]:
        """Text that has less contrast with what lies under it than WCAG's AA asks for."""
        found: list[str] = self.ask(_CONTRAST)
        return found

    def complaints(self) -> list[str]:
        """What the console holds."""
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture
def page(chromium: Any) -> Any:
    """Open a file or an address; at the end the console must hold nothing, and a file must have loaded no other."""
    opened: list[Page] = []

    def open_(place: Path | str) -> Page:
        opened.append(Page(chromium, place if isinstance(place, str) else place.resolve().as_uri()))
        return opened[-1]

    yield open_
    assert [each.complaints() for each in opened] == [[] for _ in opened]
    if opened[-1].ask("location.protocol") == "file:":
        assert opened[-1].ask("performance.getEntriesByType('resource').map((each) => each.name)") == []
