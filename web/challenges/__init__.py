"""Challenges and tests of versions, as pages and as JSON."""
