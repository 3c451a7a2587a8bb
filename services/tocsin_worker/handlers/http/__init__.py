"""The handler `http`: one request an attempt, to targets outside the worker's own network."""
