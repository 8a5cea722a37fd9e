"""Stored files: in a local folder or an object store."""
