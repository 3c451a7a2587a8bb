"""The command line: one entry point, `tocsin`."""
