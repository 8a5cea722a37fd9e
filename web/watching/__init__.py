"""Pages and streams of what is played now."""
