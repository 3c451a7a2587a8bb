"""The read model in SQL."""
