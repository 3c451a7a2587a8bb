"""The handler `process`: runs a program on the worker's machine."""
