"""People who play agents in the browser."""
