"""Tasks: Python functions of the modules that a worker was told to import."""
