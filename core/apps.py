from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


def _ensure_schedules(**_: Any) -> None:
    from core.services.schedules import schedules_ensure

    schedules_ensure()


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core import checks  # noqa: F401  (registers the system checks)

        post_migrate.connect(_ensure_schedules, sender=self)
