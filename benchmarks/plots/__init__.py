"""Pictures of figures, drawn by matplotlib in a Python of its own."""
