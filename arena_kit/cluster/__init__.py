"""Plays on Kubernetes: a Job is one lot, with a container for the referee and one for each submission."""
