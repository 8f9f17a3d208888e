"""Assemble the pages of the site in build/docs: README, guides, tutorials with live pictures, and the API reference.

`make docs` runs this file, then mkdocs. Snippets of the tutorials run here, so that the pages they write are shown.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import os
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from api_pages import write_reference

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")

# ---------------------------------------------------------------------------------------------------------------------
# Pages that are written by hand


def copy_pages() -> None:
    """Copy README and docs/, with links that lead out of them led to pages of their own."""
    pages = {ROOT / "README.md": BUILD / "index.md"}
    pages |= {ROOT / name: BUILD / name.lower() for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs")
        pages[page] = BUILD / (name.with_name("index.md") if name.name == "README.md" else name)
    for page, target in pages.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        led = partial(_led, page=page, target=target, pages=pages)
        target.write_text(LINK.sub(led, page.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "pictures", BUILD / "pictures", dirs_exist_ok=True)
    for name in ("site.css", "iframe-worker.js"):
        shutil.copy(ROOT / "docs" / name, BUILD)


def _led(match: re.Match[str], page: Path, target: Path, pages: dict[Path, Path]) -> str:
    """A link as it has to be on the site."""
    before, link, after = match.groups()
    if "://" in link or link.startswith("mailto:"):
        return match[0]
    found = (page.parent / link).resolve()
    if found in pages:
        to = pages[found]
    elif found.is_relative_to(ROOT / "docs" / "pictures"):
        to = BUILD / found.relative_to(ROOT / "docs")
    elif found.is_file():
        to = _file_page(found)
    else:
        return match[0]
    return f"{before}{Path(os.path.relpath(to, target.parent)).as_posix()}{after}"


def _file_page(file: Path) -> Path:
    """A page that shows a file of the project."""
    name = file.relative_to(ROOT)
    page = BUILD / "files" / name.with_name(f"{name.name}.md")
    page.parent.mkdir(parents=True, exist_ok=True)
    language = {".py": "python", ".toml": "toml"}.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8").replace("```", "'''") if language == "text" else file.read_text()
    page.write_text(f"# {name}\n\n```{language}\n{text.rstrip()}\n```\n", encoding="utf-8")
    return page


def run_tutorials() -> None:
    """Run the snippets of the tutorials, in the folder where the site expects the pages that they write."""
    folder = BUILD / "tutorials"
    for page in sorted(folder.glob("*.md")):
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for i, match in enumerate(SNIPPET.finditer(page.read_text(encoding="utf-8")), start=1):
            name = f"{page.stem}_{i}.py"
            linecache.cache[name] = (len(match[1]), None, match[1].splitlines(keepends=True), name)
            with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
                exec(compile(match[1], name, "exec"), namespace)


def main() -> None:
    """Write all pages anew."""
    shutil.rmtree(BUILD, ignore_errors=True)
    copy_pages()
    importlib.import_module("gradtape.debugging")
    run_tutorials()
    print(f"{write_reference(BUILD / 'api')} public names", file=sys.stderr)


if __name__ == "__main__":
    main()
