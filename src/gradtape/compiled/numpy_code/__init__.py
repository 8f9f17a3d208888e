"""Traced programs on NumPy: the equations of a jaxpr as calls of NumPy, for the calls before XLA has compiled it."""
