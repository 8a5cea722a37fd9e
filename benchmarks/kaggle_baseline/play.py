"""Plays Connect X (6 x 7, four in a row) by `env.run` between two agents that take the first free column.

Called as `play.py MATCHES` with the Python of `benchmarks.kaggle_baseline`; prints the seconds without imports.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
from typing import Any

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    # The library prints every game whose packages are missing.
    from kaggle_environments import make  # type: ignore[import-not-found]  # installed only in its own Python


def first_free(observation: Any, configuration: Any) -> int:
    """Play like `dummy`: take the first free column."""
    return next(column for column in range(configuration.columns) if observation.board[column] == 0)


def main(matches: int) -> float:
    """Play; return the seconds. Raises RuntimeError if a match was not played to its end."""
    environment = make("connectx", configuration={"rows": 6, "columns": 7, "inarow": 4})
    begun = time.perf_counter()
    for _ in range(matches):
        environment.reset()
        *_, last = environment.run([first_free, first_free])
        if [side.status for side in last] != ["DONE", "DONE"]:
            raise RuntimeError(f"A match ended as {[side.status for side in last]}.")
    return time.perf_counter() - begun


if __name__ == "__main__":
    print(main(int(sys.argv[1])))
