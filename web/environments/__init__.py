"""Pages and API of environments."""
