"""Evaluations, their seeds, and the boards that rank by score."""
