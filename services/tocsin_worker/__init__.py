"""The worker: takes runs and executes them."""
