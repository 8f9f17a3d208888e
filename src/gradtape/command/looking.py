"""`gradtape view`: open a page again, or make one of a recording. And the page after `gradtape run --view`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..explain.page import VERSION, Page, open_file


def view(file: str, out: str | None = None) -> int:
    """Open a page, or write it to the file `out`; returns the exit code."""
    path = Path(file)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        return _refuse(f"can't open {file}: {error.strerror}")
    except UnicodeDecodeError:
        return _refuse(f"{file} is neither a page nor a recording of gradtape")
    if '<meta name="generator" content="gradtape">' in text[:2000]:
        if out is None:
            open_file(path)
        else:
            Path(out).write_text(text, encoding="utf-8")
        return 0
    data = _recording(text)
    if data is None:
        return _refuse(f"{file} is neither a page nor a recording of gradtape")
    if data["version"] != VERSION:
        return _refuse(f"{file} is of version {data['version']}, and this gradtape reads version {VERSION}")
    return deliver(Page(data), out)


def deliver(page: Page, out: str | None) -> int:
    """Open a page, or write it to a file; returns the exit code."""
    if out is None:
        path = page.open()
    else:
        path = Path(out)
        try:
            page.save(path)
        except OSError as error:
            return _refuse(f"can't write {out}: {error.strerror}")
    print(f"gradtape view: {path}", file=sys.stderr)
    return 0


def _recording(text: str) -> Any:
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) and {"version", "tapes", "files", "notes"} <= data.keys() else None


def _refuse(message: str) -> int:
    print(f"gradtape view: {message}", file=sys.stderr)
    return 2
