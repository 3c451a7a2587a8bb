"""A whole installation in one terminal: `tocsin demo` and `tocsin dev`."""
