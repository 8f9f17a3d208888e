"""Ragged tensors, whose rows differ in length. Importing this extends public functions for them: see `ops.dispatch`."""

from . import broadcasting_rows, joining_rows, padding_rows, row_creation, row_reduction, row_selection

__all__ = [
    "broadcasting_rows",
    "joining_rows",
    "padding_rows",
    "row_creation",
    "row_reduction",
    "row_selection",
]
