"""The code that is copied into a browser's container."""
