"""@function: arguments and cache keys, tracing, programs, their gradients, control flow. Imports `core` and `ops`."""
