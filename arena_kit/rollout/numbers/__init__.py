"""Figures about many rollouts: success at k attempts, intervals, comparisons of agents. Pure."""
