"""Policies for copies of a variable on several devices, which programs name; variables here have one copy."""

from __future__ import annotations

import enum


class VariableSynchronization(enum.Enum):
    """The time at which copies of a variable are made equal."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The way in which values written to copies of a variable become one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
