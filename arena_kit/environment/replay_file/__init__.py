"""Replays as files: a JSON document, and an HTML page that works by itself."""
