"""A folder for `sys.path`: it holds the name `tensorflow`, for processes that a script starts under `gradtape run`."""
