"""Agents and their submissions, from the upload to their phases and versions."""
