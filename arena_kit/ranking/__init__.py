"""Formats, pairing, standings and ratings: pure functions."""
