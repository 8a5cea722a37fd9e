"""Plays, checks, judges and ranks agents: the same on a laptop, a worker and a pod. Free of Django."""
