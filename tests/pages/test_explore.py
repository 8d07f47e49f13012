"""``glognn explore`` in headless Chromium: what a reader sees, clicks and types."""

from __future__ import annotations

import csv
import io
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from glognn.experiments.explanations import open_explainer
from glognn.experiments.saved import open_saved
from glognn.report.exploration import Explored, explore_page
from glognn.report.live import serve_page
from tests.pages.conftest import CLASSES, COUNTRIES, HOSTILE, Page, told

REASONS, TOP = 20, 4
Open = Callable[[Path | str], Page]


@pytest.fixture(scope="session")
def written(run: Path) -> Path:
    """The page of the run, with the reasons of some nodes."""
    place = run.parent / "explore.html"
    said = told("explore", run, "--out", place, "--reasons", REASONS, "--top", TOP)
    assert f"Page: {place}" in said
    return place


def explained(run: Path, node: str) -> Any:
    [found] = json.loads(told("explain", run, "--node", node, "--top", TOP, "--format", "json"))
    return found


def click(page: Page, node: str) -> None:
    from selenium.webdriver import ActionChains

    px, py = page.ask("explore.drawing.screen(explore.ids.indexOf(arguments[0]))", node)
    canvas = page.browser.find_element("id", "graph")
    width, height = page.ask("[explore.drawing.width, explore.drawing.height]")
    ActionChains(page.browser, duration=0).move_to_element_with_offset(
        canvas, round(px - width / 2), round(py - height / 2)
    ).click().perform()


def with_reasons(page: Page) -> str:
    """A node whose reasons the page holds, and which lies apart enough to be clicked on."""
    return str(
        page.ask(
            "(() => { const d = explore.drawing; return explore.ids.find((id, i) => id.startsWith('u')"
            " && explore.held(i) && d.nearest(...d.screen(i).map(Math.round), 12) === i); })()"
        )
    )


def test_a_click_shows_the_numbers_of_the_command(run: Path, written: Path, page: Open) -> None:
    shown = page(written)
    assert "60 nodes" in shown.text("#about")
    node = with_reasons(shown)
    click(shown, node)
    assert shown.text("#node") == node
    found = explained(run, node)
    assert f"Predicted: {found['prediction']}" in shown.text("#panel")
    likely = sorted(found["probabilities"].values(), reverse=True)
    bars = shown.ask("[...document.querySelectorAll('.probabilities .value')].map((e) => e.textContent)")
    assert bars == [f"{100 * value:.1f} %" for value in likely]
    for selector, name, form in ((".coefficient", "coefficient", "+.5f"), (".margin", "margin", "+.4f")):
        cells = shown.ask(f"[...document.querySelectorAll('#reasons {selector}')].map((e) => e.textContent)")
        assert cells == [format(each[name], form) for each in (*found["supporters"], *found["opponents"])]
    assert "age <i>" in shown.text(".inputs")


def test_columns_are_shown_as_the_table_has_them(run: Path, written: Path, page: Open) -> None:
    [node] = [line.split(",") for line in (run.parent / "nodes.csv").read_text().splitlines() if line.startswith("u9,")]
    shown = page(written)
    shown.ask("explore.open(explore.ids.indexOf('u9'))")
    cells = shown.ask("[...document.querySelectorAll('#panel tbody th[scope=row] + td')].map((e) => e.textContent)")
    assert cells[-4:] == [f"{float(node[1]):g}", *node[2:5]]
    name = "Array.from(document.getElementById('colour').options).find((e) => e.textContent === 'since').value"
    shown.ask(f"(() => {{ const s = document.getElementById('colour'); s.value = {name};"
              " s.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert "2024-02-01" in shown.text("#legend")
    shown.ask("(() => { const [least, most] = document.querySelectorAll('#legend input');"
              " for (const each of [least, most]) { each.value = '2024-02-10';"
              " each.dispatchEvent(new Event('change')); } })()")  # fmt: skip
    assert shown.text("#shown") == "2 of 60 nodes shown"


def test_names_stay_text(written: Path, page: Open) -> None:
    assert "<b>fraud" not in written.read_text(encoding="utf-8")
    shown = page(written)
    scripts = shown.ask("document.scripts.length")
    shown.ask("explore.open(explore.ids.indexOf(arguments[0]))", HOSTILE)
    assert shown.text("#node") == HOSTILE
    assert CLASSES[0] in shown.text("#legend")
    shown.ask("(() => { const s = document.getElementById('colour'); s.value = String(7);"
              " s.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert COUNTRIES[0] in shown.text("#legend")
    assert COUNTRIES[0] in shown.text("#panel")
    assert shown.ask("document.scripts.length") == scripts
    assert shown.ask("document.querySelectorAll('#panel b, #panel img, #panel script, #legend img, h1 *').length") == 0


def test_it_is_used_by_keys_alone(written: Path, page: Open) -> None:
    from selenium.webdriver import Keys

    shown = page(written)
    shown.keys("/")
    shown.keys("u17")
    assert shown.ask("document.getElementById('matches').children.length") == 1
    shown.keys(Keys.ENTER)
    assert shown.text("#node") == "u17"
    assert shown.text("#live").startswith("Node u17: ")
    assert shown.ask("document.activeElement.id") == "graph"
    shown.keys(Keys.ARROW_LEFT)
    shown.keys(Keys.ARROW_RIGHT)
    moved = shown.ask("explore.ids[explore.node]")
    shown.keys("b")
    assert shown.text("#node") != moved or moved == "u17"
    shown.keys("?")
    assert shown.ask("document.getElementById('help').open")
    shown.keys(Keys.ESCAPE)
    assert not shown.ask("document.getElementById('help').open")
    shown.keys(Keys.ESCAPE)
    assert shown.ask("document.getElementById('panel').hidden")
    scale = shown.ask("explore.drawing.view.scale")
    shown.keys("+")
    assert shown.ask("explore.drawing.view.scale") > scale
    shown.ask("document.getElementById('search').focus()")
    order = []
    for _ in range(5):
        shown.keys(Keys.TAB)
        order.append(shown.ask("document.activeElement.id"))
    assert order == ["lasso", "fit", "theme", "shortcuts", "colour"]


def test_nodes_are_filtered_and_chosen(written: Path, page: Open) -> None:
    from selenium.webdriver import ActionChains

    shown = page(written)
    counts = shown.ask("[...document.querySelectorAll('#legend .count')].map((e) => Number(e.textContent))")
    shown.browser.find_element("css selector", "#legend button").click()
    assert shown.text("#shown") == f"{counts[1]} of 60 nodes shown"
    assert shown.ask("document.querySelector('#legend button').ariaPressed") == "false"
    shown.browser.find_element("id", "clear").click()
    assert shown.text("#shown") == "60 nodes shown"
    shown.browser.find_element("id", "lasso").click()
    canvas = shown.browser.find_element("id", "graph")
    width, height = shown.ask("[explore.drawing.width, explore.drawing.height]")
    x, y = width // 2 - 5, height // 2 - 5
    around = ActionChains(shown.browser, duration=0).move_to_element_with_offset(canvas, -x, -y).click_and_hold()
    for px, py in ((x, -y), (x, y), (-x, y)):
        around = around.move_to_element_with_offset(canvas, px, py)
    around.release().perform()
    assert shown.text("#chosen-count") == "60 nodes chosen"
    rows = list(csv.DictReader(io.StringIO(shown.ask("explore.csv()"))))
    assert {row["id"] for row in rows} == {HOSTILE, *(f"u{number}" for number in range(1, 60))}
    assert {row["country"] for row in rows} == set(COUNTRIES)
    assert {row["prediction"] for row in rows} <= set(CLASSES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(written: Path, page: Open, theme: str) -> None:
    shown = page(written)
    shown.ask("explore.open(explore.ids.indexOf(arguments[0]))", with_reasons(shown))
    shown.ask("Shell.setTheme(arguments[0])", theme == "dark")
    assert shown.low_contrast() == []
    shown.ask("document.getElementById('help').showModal()")
    assert shown.low_contrast() == []


@pytest.fixture
def served(run: Path) -> Iterator[tuple[str, Explored]]:
    saved = open_saved(run)
    data, _ = saved.graph()
    found = Explored(
        "run", ["glognn", "explain", "run"], open_explainer(saved, data=data), data, saved.tables, saved.splits
    )
    html = explore_page(found, reasons=0, top=TOP, served=True)
    ready, known = threading.Event(), list[Any]()

    def tell(*arguments: Any) -> None:
        known.extend(arguments)
        ready.set()

    thread = threading.Thread(target=serve_page, args=(html, found), kwargs={"top": TOP, "port": 0, "ready": tell})
    thread.start()
    ready.wait()
    yield known[0], found
    known[1]()
    thread.join()


def test_a_served_page_answers_for_every_node(run: Path, served: tuple[str, Explored], page: Open) -> None:
    shown = page(served[0])
    shown.ask("explore.open(explore.ids.indexOf('u9'))")
    shown.wait("document.getElementById('reasons') !== null")
    found = explained(run, "u9")
    cells = shown.ask("[...document.querySelectorAll('#reasons .coefficient')].map((e) => e.textContent)")
    assert cells == [f"{each['coefficient']:+.5f}" for each in (*found["supporters"], *found["opponents"])]


def test_a_server_answers_this_machine_alone(served: tuple[str, Explored]) -> None:
    address, _ = served
    assert address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(f"{address}/find?id=u9") as answer:
        assert json.load(answer)["id"] == "u9"
    for path, headers, status in (
        ("/", {"Host": "evil.example"}, 421),
        ("/reasons?node=60", {}, 400),
        ("/reasons?node=-1", {}, 400),
        ("/find?id=nobody", {}, 404),
        ("/../etc/passwd", {}, 404),
    ):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(urllib.request.Request(address + path, headers=headers))
        assert error.value.code == status
        assert "error" in json.load(error.value)
