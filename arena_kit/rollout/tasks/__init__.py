"""Tasks: what tasks.json holds, as it is read, revised, and found to be a duplicate."""
