"""Runs a player in its container. Standard library only; NumPy arrays for players when NumPy is there.

`supervisor` is process 1 and never runs a line of the player. `loading` loads the player in a process of its own and
forks one for every duel. `serving` answers the referee in that one. See docs/reference/protocol.md.
"""
