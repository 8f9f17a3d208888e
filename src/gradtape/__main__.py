"""`python -m gradtape`: the command."""

from .cli import main

main()
