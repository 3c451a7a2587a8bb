"""The gateway: commands in, history out, over HTTP."""
