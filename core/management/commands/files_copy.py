"""Copy the arena's files into the object store, or back into the local folder."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.operations.files_copy import CopyRefused, files_copy


class Command(BaseCommand):
    help = "Copy the arena's files into the object store that STORAGE names, or back into the local folder."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", choices=["s3", "local"], required=True, help="where the files go")
        parser.add_argument(
            "--delete", action="store_true", help="delete each file where it was, once both were compared"
        )

    def handle(self, *args: Any, to: str, delete: bool, verbosity: int, **options: Any) -> None:
        tell = self.stdout.write if verbosity > 1 else lambda _: None
        try:
            done = files_copy(to=to, delete=delete, tell=tell)
        except CopyRefused as reason:
            raise CommandError(str(reason)) from None
        self.stdout.write(
            f"{done.count} files ({done.size_bytes:,} bytes) were copied and compared, {done.there} were there, "
            f"{done.deleted} were deleted where they were."
        )
        for name in done.lost:
            self.stderr.write(f"{name} is in neither store.")
        if done.failed:
            name, why = next(iter(done.failed.items()))
            raise CommandError(f"{len(done.failed)} files could not be copied, e.g. {name}: {why}. Run it again.")
