"""Plays, checks, judges and ranks agents, with the same code on a laptop, a worker and a pod; does not use Django."""
