"""What is copied into a browser's container."""
