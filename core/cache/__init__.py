"""Answers that are cached for a moment, and the cache in Redis."""
