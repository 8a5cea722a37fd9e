"""Write what Prometheus and Alertmanager need to know of this arena."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from core.monitoring.alertmanager import CONFIGURATION, TOKEN_FILE, alertmanager_configuration


class Command(BaseCommand):
    help = f"Write {TOKEN_FILE}, for Prometheus, and {CONFIGURATION}, made from EMAIL_URL and ADMINS, into a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="has to be the same where Alertmanager reads it")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.METRICS_TOKEN:
            raise CommandError("METRICS_TOKEN is not set. Prometheus identifies itself by it.")
        folder: Path = options["folder"]
        try:
            (folder / TOKEN_FILE).write_text(settings.METRICS_TOKEN)
            (folder / CONFIGURATION).write_text(alertmanager_configuration())
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
