"""The command `gradtape`. Imports anything."""
