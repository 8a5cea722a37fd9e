"""Organisers' pages, on Django's admin."""
