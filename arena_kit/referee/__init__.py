"""Plays matches, duels and evaluations, and decides who is at fault for a failure."""
