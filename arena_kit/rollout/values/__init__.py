"""Values that tasks and agents write: reading, comparing and describing them."""
