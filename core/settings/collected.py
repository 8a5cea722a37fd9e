"""Settings of the demo's site: those of the arena, but static files are collected, compressed and cached for long.

Without DEBUG they are so anyway. With DEBUG they come from where they are edited, which suits developers alone.
"""

from core.settings import *
from core.settings.base import DATA_DIR
from core.settings.state import STORAGES as _STORAGES

STATIC_ROOT = DATA_DIR / "static"
STORAGES = {**_STORAGES, "staticfiles": {"BACKEND": "web.site.static_files.CollectedFiles"}}
WHITENOISE_AUTOREFRESH = WHITENOISE_USE_FINDERS = False
