"""Commands that stand before those of Django."""
