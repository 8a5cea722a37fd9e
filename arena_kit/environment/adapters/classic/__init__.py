"""The classic form of environments, that of the older rl-arena: folders, documents of duels, and HTML of positions."""
