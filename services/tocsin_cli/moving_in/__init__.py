"""Other schedulers' jobs as Tocsin's (pure: text in, definitions and notices out)."""
