"""A small shop: its back office, rendered on the server."""
