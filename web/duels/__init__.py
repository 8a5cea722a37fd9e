"""Pages and API of duels and matches."""
