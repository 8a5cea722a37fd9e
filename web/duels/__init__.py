"""Pages and API of duels, matches and challenges."""
