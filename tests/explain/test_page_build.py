"""The built page belongs to its sources: `make page` was run after the last change to them."""

import hashlib
import re
from importlib import resources
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "page"


def hash_of_sources():
    names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"]
    names += [f"src/{path.name}" for path in (SOURCES / "src").iterdir()]
    parts = [name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0" for name in sorted(names)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_the_page_was_built_from_these_sources():
    built = resources.files("gradtape.explain").joinpath("page.html").read_text(encoding="utf-8")
    found = re.search(r'<meta name="sources" content="(\w+)">', built)
    assert found and found[1] == hash_of_sources(), "run `make page`, and commit the page with its sources"


def test_the_page_loads_nothing():
    built = resources.files("gradtape.explain").joinpath("page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in built
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", built)
    assert len(built) < 300_000
