"""Public functions made of several primitives, and whole programs, are right at every sample."""

import pytest

from . import checks
from .composed import COMPOSED, PROGRAMS


@pytest.mark.parametrize("name", COMPOSED)
def test_every_check_holds_at_every_sample(name, subtests):
    for check in checks.ALL:
        with subtests.test(check.__name__):
            check(COMPOSED[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_jacobian_swept_row_by_row_can_be_differentiated(name):
    checks.gradient_of_a_jacobian(COMPOSED[name], at_once=False)
