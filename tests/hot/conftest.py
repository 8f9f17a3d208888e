"""Hot tapes from the second pass on, and as they were after each test."""

import os

import pytest

pytest.importorskip("jax")

from gradtape.hot import places


@pytest.fixture
def hot(monkeypatch):
    """Turn hot tapes on or off: `hot()`, `hot(False)`; `hot.counts` are of this test alone.

    Programs are compiled; after `hot.by_numpy()`, or with GRADTAPE_HOT=numpy, they call NumPy where that is possible.
    """

    class Hot:
        def __call__(self, on=True):
            places.switch(on)

        def by_numpy(self):
            places.policy.always(by_numpy=True)

        @property
        def counts(self):
            return places.counts()

    before = places.is_on()
    places.switch(False)
    monkeypatch.setattr(places, "places", {})
    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.always(by_numpy=os.environ.get("GRADTAPE_HOT") == "numpy")
    yield Hot()
    places.switch(before)
