from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate

from environments.registry import use_folder


def _ensure_schedules(**_: Any) -> None:
    from core.services.schedules import schedules_ensure

    schedules_ensure()


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core import checks  # noqa: F401  (registers the system checks)
        from core.sentry import sentry_start

        sentry_start()
        use_folder(settings.ENVIRONMENTS_DIR)

        post_migrate.connect(_ensure_schedules, sender=self)
