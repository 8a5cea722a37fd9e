"""Small agents to start from, and broken archives to test an arena with."""
