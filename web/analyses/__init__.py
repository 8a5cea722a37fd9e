"""What positions of a match are worth: by a solver, and by two agents that play on from them."""
