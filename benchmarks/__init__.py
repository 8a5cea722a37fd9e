"""Benchmarks of speed, cost and fairness. Each prints a table and can write JSON; see its `--help`."""

import os

# As in a player's container, so that no isolation does not win by more cores. Must come before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
