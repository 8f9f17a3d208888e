"""`python -m gradtape`: the command."""

from .command.cli import main

main()
