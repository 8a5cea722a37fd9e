"""Exports the arena's environments to the interfaces that learning libraries know: Gymnasium and PettingZoo."""
