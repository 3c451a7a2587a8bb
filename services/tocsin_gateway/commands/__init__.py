"""Writing: commands to the log, and waiting until the read model has seen them."""
