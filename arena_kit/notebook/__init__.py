"""The acts of the command `arena` as functions for notebooks, which show their results."""
