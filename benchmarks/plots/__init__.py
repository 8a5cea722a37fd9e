"""Pictures of figures, drawn by matplotlib in a separate virtual environment."""
