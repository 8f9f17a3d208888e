"""docs/coverage.md says what is true."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location("make_coverage", DOCS / "make_coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(coverage):
    written = (DOCS / "coverage.md").read_text()
    assert written == coverage.page(), "run: python docs/make_coverage.py"
