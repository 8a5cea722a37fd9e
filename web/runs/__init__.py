"""Runs of programs in the API."""
