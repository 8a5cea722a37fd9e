"""Comparisons of versions, as pages and as JSON."""
