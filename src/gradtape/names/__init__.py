"""The public names of gradtape: which there are, and the error for one that is missing.

Imports nothing of gradtape: the namespaces are looked at as the running program has them, in `sys.modules`.
"""
