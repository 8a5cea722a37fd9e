"""The code that runs inside a sandbox, with the standard library alone."""
