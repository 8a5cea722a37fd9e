"""Put a backup back, checked as a whole first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.operations.backup.errors import BackupError
from core.operations.backup.restore import restore


class Command(BaseCommand):
    help = "Put a backup back, checked as a whole first. Stop site and workers before."
    # The database may be empty, or of an older arena.
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="what `manage.py backup` has written")
        parser.add_argument("--replace", action="store_true", help="also where there are people or agents already")

        parser.add_argument("--force", action="store_true", help="also while workers or others use the database")

    def handle(self, *args: Any, path: Path, replace: bool, force: bool, **options: Any) -> None:
        try:
            done = restore(path, replace=replace, force=force, tell=self.stdout.write)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
        total = sum(done.seconds.values())
        self.stdout.write(
            f"The arena of {done.made_at} is back with {done.file_count} files in {total:.1f} s ({steps})."
        )
        self.stdout.write("Once the workers run, versions that play and have no image on this machine are built again.")
        if done.missing:
            self.stdout.write(
                f"Missing when the backup was made, and still: {len(done.missing)}, e.g. {done.missing[0]}"
            )
