"""What the scheduler decides: a pure state machine over an ordered key-value store."""
