"""Create and remove hosts of workers as work comes and goes."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from core.checks.schema import refuse_unfit_schema
from core.checks.startup import TAG
from core.errors import Refused
from core.jobs.hosts import worker_name
from core.monitoring.exposition import serve
from core.operations.scaling.decision import Policy
from core.operations.scaling.providers import Provider, provider_of
from core.operations.scaling.scaler import LOOK_SECONDS, Scaler


class Command(BaseCommand):
    requires_system_checks = (TAG,)
    help = "Create and remove hosts of workers as SCALING says, until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="look once, and say what was decided")

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        try:
            refuse_unfit_schema()
            provider = provider_of(settings.SCALING)
        except (ImproperlyConfigured, Refused) as refusal:
            raise CommandError(str(refusal)) from None
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: ended.set())
        scaler = Scaler(
            provider,
            policy_of(settings.SCALING, provider),
            kind=settings.SCALING["provider"],
            queues=settings.SCALING["queues"],
            worker=worker_name(),
        )
        if settings.METRICS_PORT and not once:
            serve(settings.METRICS_PORT)
        try:
            while not ended.is_set():
                self._look(scaler)
                if once:
                    return
                ended.wait(LOOK_SECONDS)
        finally:
            provider.close()

    def _look(self, scaler: Scaler) -> None:
        try:
            decision = scaler.look()
        except DatabaseError as error:
            # The next look finds it again; hosts and jobs go on meanwhile.
            self.stderr.write(f"The database does not answer: {error}")
            connection.close()
            return
        self.stdout.write(decision.reason if decision else "Nothing was done; see the log.")
        self.stdout.flush()


def policy_of(options: dict[str, Any], provider: Provider) -> Policy:
    """Return the policy of the settings. Raises CommandError."""
    if options["slots"] < 1 or options["minutes"] <= 0 or not 0 <= options["min"] <= options["max"]:
        raise CommandError("SCALING needs slots of at least 1, minutes above 0, and min not above max.")
    return Policy(
        options["min"],
        options["max"],
        options["minutes"] * 60,
        options["slots"],
        options["hours_per_day"],
        provider.youngest_minutes * 60,
        provider.oldest_minutes * 60,
    )
