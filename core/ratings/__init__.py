"""Ratings and other views of results."""
