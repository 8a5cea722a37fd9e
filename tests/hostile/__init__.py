"""Hostile archives, players, requirements and texts, each with the verdict it must get: `make hostile`."""
