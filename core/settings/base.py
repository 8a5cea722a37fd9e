"""The environment variables of this process, and the few settings that the other modules build on."""

import os
from pathlib import Path

from core.settings.variables import Variables

BASE_DIR = Path(__file__).resolve().parents[2]
VARIABLES = env = Variables(os.environ)

DEBUG = env.flag("DEBUG", False)
SITE_NAME = env.text("SITE_NAME", "RL Arena")
SITE_URL = env.text("SITE_URL").rstrip("/")
# The process that sends live events; empty: pages poll every two seconds instead.
EVENTS_URL = env.text("EVENTS_URL").rstrip("/")
DATA_DIR = Path(env.text("DATA_DIR", str(BASE_DIR / "data")))
