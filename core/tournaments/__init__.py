"""Tournaments, ladders and seasons: planned, drawn, played and shown."""
