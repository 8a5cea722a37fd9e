"""Kaggle's Connect X with both agents in one process, in a separate virtual environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
REQUIREMENTS = FOLDER / "requirements.txt"


def play_kaggle(python: Path, matches: int) -> float:
    """Play matches with Kaggle's library; return the seconds. python: an interpreter with REQUIREMENTS installed."""
    done = subprocess.run(
        [python, FOLDER / "play.py", str(matches)], stdout=subprocess.PIPE, text=True, timeout=600, check=True
    )
    return float(done.stdout)
