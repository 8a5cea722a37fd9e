"""Measured programs: speed, costs, fairness. Each prints a table and writes JSON; see `--help` of each."""

import os

# As in a player's container, and before NumPy is loaded: no isolation must not win by using more cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
