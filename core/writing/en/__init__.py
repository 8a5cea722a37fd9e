"""For every kind of English."""
