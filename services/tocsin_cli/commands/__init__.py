"""The commands, a module a group.

Each has `register(app)`. What a command needs beside typer is imported when it runs, so that the
others start quickly.
"""
