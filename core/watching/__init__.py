"""Duels that people watch while they are played: what is told of them, and what is played now."""
