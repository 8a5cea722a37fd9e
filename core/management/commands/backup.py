"""Back up the database and every stored file to one file while the arena runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from core.operations.backup.errors import BackupError
from core.operations.backup.make import backup_make, backups_thin

SHOWN = 5


class Command(BaseCommand):
    help = "Back up the database and every stored file to one file while the arena runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a new file, or a folder, in which the file is named by the time")
        parser.add_argument("--keep", type=int, metavar="N", help="then delete all but the newest N in this folder")
        parser.add_argument(
            "--encrypt-to",
            default="",
            metavar="RECIPIENT",
            help="a public key of age: only its private key opens the file",
        )

    def handle(self, *args: Any, path: Path, keep: int | None, encrypt_to: str, **options: Any) -> None:
        if keep is not None and (keep < 1 or not path.is_dir()):
            raise CommandError("--keep needs a folder and a number from 1.")
        begun = time.monotonic()
        try:
            made = backup_make(path, now=timezone.now(), recipient=encrypt_to)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        seconds = time.monotonic() - begun
        size = made.size_bytes / 1024**2
        self.stdout.write(f"{made.path}: the database and {made.file_count} files, {size:.1f} MiB, in {seconds:.1f} s.")
        if made.gone:
            self.stdout.write(f"Deleted by the arena during the backup: {len(made.gone)}")
        for name in made.missing[:SHOWN]:
            self.stderr.write(f"Missing in the store: {name}")
        if len(made.missing) > SHOWN:
            self.stderr.write(f"And {len(made.missing) - SHOWN} more; the manifest lists all.")
        for name, reason in list(made.unread.items())[:SHOWN]:
            self.stderr.write(f"The store could not read {name}: {reason}")
        if made.unread:
            # They may be in an older backup, and the store may work again tomorrow.
            raise CommandError(
                f"This backup lacks {len(made.unread)} files that the store could not read; the manifest lists them. "
                "Check the store and make another backup; no older one was deleted."
            )
        if made.missing and not made.file_count:
            # Otherwise an unmounted store would replace the complete backups, night by night.
            raise CommandError(
                "The store has no file that the rows name: is it mounted, and is DATA_DIR right? "
                "This backup contains only the database; no older one was deleted."
            )
        for old in backups_thin(path, keep=keep) if keep is not None else ():
            self.stdout.write(f"Deleted: {old}")
