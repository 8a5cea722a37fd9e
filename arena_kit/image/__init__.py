"""Builds the images of submissions without running any of their code."""
