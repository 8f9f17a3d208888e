"""Tensor, Variable, Primitive and `apply`, the tape and its sweep, forward mode. Imports `engine` only."""
