"""Remove what need not be kept any longer, as the schedule does every day."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from core.operations.retention import retention_apply


class Command(BaseCommand):
    help = "Remove what need not be kept any longer, as the schedule does every day."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would go")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        verb = "would go" if dry_run else "removed"
        for cleared in retention_apply(now=timezone.now(), dry_run=dry_run):
            kept = f"kept for {cleared.days} days" if cleared.days else "kept for ever"
            if cleared.what.startswith("archives"):
                kept = "not kept"
            self.stdout.write(f"{cleared.what}, {kept}: {cleared.count} {verb}")
