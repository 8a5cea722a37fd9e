"""Runs a player in its container, with the standard library of Python 3.8 or newer alone.

Players get NumPy arrays where NumPy is installed.

`supervisor` is process 1 and never runs code of the player. `loading` loads the player in a second process and forks a
third one for every duel, in which `serving` answers the referee. See docs/reference/protocol.md.
"""
