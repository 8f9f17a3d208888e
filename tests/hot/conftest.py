"""Hot tapes from the second pass on, and as they were after each test."""

import pytest

pytest.importorskip("jax")

from gradtape.hot import places


@pytest.fixture
def hot(monkeypatch):
    """Turn hot tapes on or off: `hot()`, `hot(False)`; `hot.counts` are of this test alone."""

    class Hot:
        def __call__(self, on=True):
            places.switch(on)

        @property
        def counts(self):
            return places.counts()

    before = places.is_on()
    places.switch(False)
    monkeypatch.setattr(places, "places", {})
    monkeypatch.setattr(places, "policy", places.Policy())
    places.policy.always()
    yield Hot()
    places.switch(before)
