"""Delete what is past its retention time, as the daily schedule does."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from core.operations.retention import retention_apply


class Command(BaseCommand):
    help = "Delete what is past its retention time, as the daily schedule does."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        verb = "would be deleted" if dry_run else "deleted"
        for cleared in retention_apply(now=timezone.now(), dry_run=dry_run):
            kept = f"kept for {cleared.days} days" if cleared.days else "kept forever"
            if cleared.what.startswith("archives"):
                kept = "not kept"
            self.stdout.write(f"{cleared.what}, {kept}: {cleared.count} {verb}")
