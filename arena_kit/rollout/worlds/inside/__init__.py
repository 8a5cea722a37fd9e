"""The code that runs within a world."""
