"""Duels and challenges."""
