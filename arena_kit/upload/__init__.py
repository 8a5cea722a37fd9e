"""What an upload may be."""
