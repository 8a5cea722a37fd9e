"""What runs within a world."""
