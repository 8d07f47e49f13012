"""``python -m documents.check SITE``: whether the built site can be read without a network.

Every link of a page leads to a file of the site, every anchor to something with that name, and nothing that a page
loads (script, style, picture) comes from elsewhere. MkDocs checks the links of Markdown; this looks at what came of it.
No list or table has become a paragraph either, as one does that no empty line stands before.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
_NOT_LOADED = {"canonical", "next", "prev"}
_SWALLOWED = re.compile(r"<p>(?:(?!</p>).)*?\n((?:- |\d+\. |\|)[^\n]{1,40})", re.DOTALL)


class Page(HTMLParser):
    """What a page names (ids), links to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.swallowed: list[str] = _SWALLOWED.findall(text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.names |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in _LOADED and _LOADED[tag] in values and values.get("rel") not in _NOT_LOADED:
            self.loaded.append(values[_LOADED[tag]])


def problems(site: Path) -> list[str]:
    """What is wrong, a line for each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site)
        if here.name == "404.html":
            continue
        found += [f"{here} loads {link}" for link in page.loaded if urlsplit(link).netloc]
        found += [f"{here} shows as a paragraph: {start}" for start in page.swallowed]
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{here} links to {link}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{here} links to {link}, which has no such place")
    return found


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    pages = len(list(site.rglob("*.html")))
    print("\n".join([*found, f"{pages} pages, {len(found)} problems"]))
    return 1 if found or not pages else 0


if __name__ == "__main__":
    raise SystemExit(main())
