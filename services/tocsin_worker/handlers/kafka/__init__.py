"""The handler `kafka`: produces the payload as a record."""
