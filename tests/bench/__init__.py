"""Benchmarks: `python -m tests.bench`, or `make bench`. Not tests: nothing here fails a build."""
