"""Pages on which people play against agents."""
