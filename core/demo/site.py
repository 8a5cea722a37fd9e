"""The demo's site: `python -m core.demo.site ADDRESS` collects the static files if any has changed, then serves."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SETTINGS = "core.settings.collected"


def main(address: str) -> None:
    """Collect the static files, and go on as the server."""
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    import django

    django.setup()
    collect()
    server = [sys.executable, "-m", "gunicorn", "core.wsgi", "--bind", address, "--threads", "8"]
    os.execv(sys.executable, server)


def collect() -> bool:
    """Collect the static files, unless all are older than the last collection. Return whether it was needed."""
    from django.conf import settings
    from django.contrib.staticfiles.finders import get_finders
    from django.core.management import call_command

    collected = Path(settings.STATIC_ROOT) / "staticfiles.json"
    paths = [Path(storage.path(name)) for finder in get_finders() for name, storage in finder.list([])]
    newest = max((path.stat().st_mtime for path in paths), default=0.0)
    if collected.is_file() and collected.stat().st_mtime >= newest:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    return True


if __name__ == "__main__":
    main(sys.argv[1])
