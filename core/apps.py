from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import connections
from django.db.models.signals import post_migrate

from arena_kit.environment.registry import use_folder


def _ensure_schedules(**_: Any) -> None:
    from core.jobs.schedules import schedules_ensure

    schedules_ensure()


def _protect_tables(using: str, **_: Any) -> None:
    from core.append_only import protect

    # Every time: SQLite makes a table anew to change it, and loses what stood guard over the old one.
    protect(connections[using])


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core import checks, retired_variables  # noqa: F401  (they register checks, and listen to logins)
        from core.operations.sentry import sentry_start
        from core.people import login_log as logins  # noqa: F401  (they register checks, and listen to logins)

        sentry_start()
        use_folder(settings.ENVIRONMENTS_DIR)

        post_migrate.connect(_ensure_schedules, sender=self)
        post_migrate.connect(_protect_tables, sender=self)
