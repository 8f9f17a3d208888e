"""Check the built site: files and anchors that its pages name exist, and nothing is loaded from elsewhere."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
                if tag != "a" and dict(attrs).get("rel") != "canonical":
                    self.loads.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def dead_links(site: Path) -> list[str]:
    """The links that lead nowhere, each with its page."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    dead = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                if link in page.loads and parts.netloc:
                    dead.append(f"{path.relative_to(site.resolve())}: {link} is not on this site")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            is_there = target.exists() and not (
                anchor and target in pages and anchor not in pages[target].anchors and anchor != "__top"
            )
            if not is_there:
                dead.append(f"{path.relative_to(site.resolve())}: {link}")
    return dead


if __name__ == "__main__":
    found = dead_links(Path(sys.argv[1]))
    print(*found, sep="\n", file=sys.stderr)
    print(f"{len(found)} dead links", file=sys.stderr)
    sys.exit(bool(found))
