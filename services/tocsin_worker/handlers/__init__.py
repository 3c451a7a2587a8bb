"""What runs can do: the port of a handler, and the handlers that come with Tocsin."""
