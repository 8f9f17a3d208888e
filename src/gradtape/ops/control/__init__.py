"""Branches, loops, and calls of Python."""
