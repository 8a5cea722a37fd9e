"""Write the database and every stored file to one file, while the arena goes on."""

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
    help = "Write the database and every stored file to one file, while the arena goes on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a new file, or a folder: then named by the time")
        parser.add_argument("--keep", type=int, metavar="N", help="then delete all but the newest N of this folder")

    def handle(self, *args: Any, path: Path, keep: int | None, **options: Any) -> None:
        if keep is not None and (keep < 1 or not path.is_dir()):
            raise CommandError("--keep needs a folder, and 1 or more.")
        begun = time.monotonic()
        try:
            made = backup_make(path, now=timezone.now())
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        seconds = time.monotonic() - begun
        size = made.size_bytes / 1024**2
        self.stdout.write(f"{made.path}: the database and {made.file_count} files, {size:.1f} MiB, in {seconds:.1f} s.")
        if made.gone:
            self.stdout.write(f"Deleted by the arena meanwhile: {len(made.gone)}")
        for name in made.missing[:SHOWN]:
            self.stderr.write(f"Missing from the store already: {name}")
        if len(made.missing) > SHOWN:
            self.stderr.write(f"And {len(made.missing) - SHOWN} more: all are in the manifest.")
        for name, reason in list(made.unread.items())[:SHOWN]:
            self.stderr.write(f"The store did not give {name}: {reason}")
        if made.unread:
            # They may be in an older backup, and the store may be well tomorrow.
            raise CommandError(
                f"This backup lacks {len(made.unread)} files that the store did not give; all are in the manifest. "
                "See to the store and make another one; no older one was deleted."
            )
        if made.missing and not made.file_count:
            # A store that is not mounted would push out, night by night, the backups that have it all.
            raise CommandError(
                "None of the files that rows name is in the store: is it mounted, and DATA_DIR right? "
                "This backup holds the database alone; no older one was deleted."
            )
        for old in backups_thin(path, keep=keep) if keep is not None else ():
            self.stdout.write(f"{old} deleted.")
