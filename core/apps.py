from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections
from django.db.models.signals import post_migrate

from arena_kit.environment.registry import use_files, use_folder


def _ensure_schedules(**_: Any) -> None:
    # Late, like every import below: models can be imported only when all apps are loaded.
    from core.jobs.schedules import schedules_ensure

    schedules_ensure()


def _protect_tables(using: str, **_: Any) -> None:
    # Late: models.
    from core.append_only import protect
    from core.checks.schema import HINT, migrated_problem
    from core.site_role import role_grant

    if problem := migrated_problem(connections[using]):
        raise CommandError(f"All migrations are applied, and still: {problem} {HINT}")
    # After every migration: SQLite recreates a table to change it, and the triggers of the old table are lost.
    protect(connections[using])
    role_grant(connections[using])


def _register() -> None:
    """Register the tasks, schedules, steps and listeners of core itself."""
    # Late: models.
    from core.jobs.heartbeat import engine_queues
    from core.jobs.messages import CHALLENGE_TASK, DELIVERIES_TASK, MAIL_TASK
    from core.jobs.registry import (
        chore_register,
        failure_listen,
        last_attempt_listen,
        schedule_register,
        step_register,
        task_register,
    )

    task_register(CHALLENGE_TASK, "core.duels.challenges.challenge_follow")
    task_register(MAIL_TASK, "core.notices.mails.mails_send")
    task_register(DELIVERIES_TASK, "core.notices.deliveries.deliveries_run")
    task_register("retention_run", "core.operations.retention.retention_run")
    task_register("certificate_check", "core.operations.certificate.certificate_check")
    schedule_register("certificate", task="certificate_check", queue="publish", minutes=60)
    task_register("disk_check", "core.operations.disks.disk_check")
    schedule_register("disk", task="disk_check", queue="publish", minutes=1)
    schedule_register("retention", task="retention_run", queue="tournament", minutes=24 * 60)
    schedule_register("mails", task=MAIL_TASK, queue="publish", minutes=1)
    schedule_register("deliveries", task=DELIVERIES_TASK, queue="publish", minutes=1)
    chore_register(*engine_queues(), run="core.jobs.images.images_evict")
    chore_register(*settings.QUEUES, run="core.environments.bringing.environments_fetch")
    step_register("core.submissions.promotions.promotions_decide")
    step_register("core.duels.runs.runs_expire")
    step_register("core.environments.holding.alarms_settle_released")
    failure_listen("core.submissions.notices.version_failed")
    last_attempt_listen("core.environments.holding.duel_hold_instead")


class CoreConfig(AppConfig):
    name = "core"

    def ready(self) -> None:
        from core.checks import connections, players, schema, secrets, startup  # noqa: F401  (they register checks)
        from core.environments.additions import added_file
        from core.jobs.locks import lock_order_assert
        from core.monitoring.logs import service_name
        from core.operations.backup import direct  # noqa: F401  (it registers a check)
        from core.people import access, login_log  # noqa: F401  (they listen to logins and what opens accounts)
        from core.tracing import tracing_start
        from core.version import arena_version

        if settings.SENTRY_DSN:
            from core.monitoring.sentry import sentry_start

            sentry_start()
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            tracing_start(settings.OTEL_EXPORTER_OTLP_ENDPOINT, service=service_name, version=arena_version())
        _register()
        if settings.DEBUG:
            lock_order_assert()
        use_folder(settings.ENVIRONMENTS_DIR, settings.DATA_DIR / "environment-trials")
        use_files(added_file)

        post_migrate.connect(_ensure_schedules, sender=self)
        post_migrate.connect(_protect_tables, sender=self)
