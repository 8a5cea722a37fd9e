"""Environments as rows."""
