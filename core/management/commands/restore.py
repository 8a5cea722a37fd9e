"""Restore a backup after checking it completely."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.operations.backup.errors import BackupError
from core.operations.backup.restore import restore


class Command(BaseCommand):
    help = "Restore a backup after checking it completely. Stop site and workers first."
    # The database may be empty, or that of an older arena.
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a file written by `manage.py backup`")
        parser.add_argument("--replace", action="store_true", help="replace existing people and agents")
        parser.add_argument("--force", action="store_true", help="restore even while the database is in use")
        parser.add_argument("--identity", type=Path, metavar="FILE", help="the private key of an encrypted backup")

    def handle(self, *args: Any, path: Path, replace: bool, force: bool, identity: Path | None, **options: Any) -> None:
        try:
            done = restore(path, replace=replace, force=force, identity=identity, tell=self.stdout.write)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        steps = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in done.seconds.items())
        total = sum(done.seconds.values())
        self.stdout.write(
            f"The arena of {done.made_at} is restored with {done.file_count} files in {total:.1f} s ({steps})."
        )
        self.stdout.write("When the workers run, active versions without an image on this machine are rebuilt.")
        if done.missing:
            self.stdout.write(f"Already missing when the backup was made: {len(done.missing)}, e.g. {done.missing[0]}")
