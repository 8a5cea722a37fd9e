"""Pages and API of agents and their submissions."""
