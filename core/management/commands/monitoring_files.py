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
        parser.add_argument("--site", default="http://web:8000", help="where Alertmanager reaches the site")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.METRICS_TOKEN:
            raise CommandError("METRICS_TOKEN is not set. Prometheus and Alertmanager identify themselves by it.")
        folder: Path = options["folder"]
        token = folder / TOKEN_FILE
        written = alertmanager_configuration(site=options["site"].rstrip("/"), token_file=str(token))
        try:
            token.write_text(settings.METRICS_TOKEN)
            (folder / CONFIGURATION).write_text(written)
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror}.") from error
