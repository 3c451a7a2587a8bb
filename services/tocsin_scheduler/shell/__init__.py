"""What the scheduler does: ownership, restore, transactions and the loop."""
