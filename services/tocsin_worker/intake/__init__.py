"""Taking runs from the log: reading, choosing fairly, and letting offsets pass."""
