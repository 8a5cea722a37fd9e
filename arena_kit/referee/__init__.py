"""Plays matches, duels and evaluations, and decides whose fault a failure is."""
