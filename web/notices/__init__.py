"""Pages and API of the inbox."""
