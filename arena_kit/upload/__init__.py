"""Checks uploads: archives and their requirements."""
