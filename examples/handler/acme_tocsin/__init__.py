"""What we add to Tocsin."""
