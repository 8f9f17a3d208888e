"""Hot tapes: passes through a tape's place in the code that are alike are compiled, without a decorator.

Imports `core` and `compiled`; the door, tapes, variables and optimizers call what `local.here.hot` refers to.
"""
