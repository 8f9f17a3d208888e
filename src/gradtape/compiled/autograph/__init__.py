"""Rewrites the Python of a @function, so that `if`, `while` and `for` on traced tensors become part of the program."""
