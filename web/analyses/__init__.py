"""The worth of a match's positions: by a solver, and by two agents that play on from them."""
