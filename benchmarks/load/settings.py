"""The arena's own settings, with two more addresses and static files in the benchmark's folder."""

from core.settings import *  # noqa: F403  (all of them, as they are)
from core.settings import DATA_DIR

ROOT_URLCONF = "benchmarks.load.urls"
STATIC_ROOT = DATA_DIR / "static"
