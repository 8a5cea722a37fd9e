"""Import what an arena of the older kind has."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.errors import Refused
from core.operations.classic_dump import tables_read
from core.operations.classic_import import Import


class Command(BaseCommand):
    help = (
        "Import accounts, agents with all versions, and results of an arena of the older kind. It can be repeated: "
        "what is here already stays as it is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("dump", type=Path, help="its database, by pg_dump, as plain text or packed with gzip")
        parser.add_argument("files", type=Path, help="a folder with a copy of its bucket, which holds revisions/")
        parser.add_argument("--dry-run", action="store_true", help="only print what would be imported, and what not")
        parser.add_argument("--in-part", action="store_true", help="also tournaments of which versions are left out")

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["files"] / "revisions").is_dir():
            raise CommandError(f"{options['files']} has no folder revisions, which holds the archives.")
        try:
            tables = tables_read(options["dump"])
        except OSError as error:
            raise CommandError(f"{options['dump']} cannot be read: {error.strerror}.") from None
        except Refused as refusal:
            raise CommandError(str(refusal)) from None
        run = Import(tables, options["files"], self.stdout.write, options["dry_run"], options["in_part"])
        try:
            counted = ", ".join(f"{count} {name}" for name, count in run.run().items())
        except KeyError as missing:
            raise CommandError(f"A table of the dump has no column {missing}, so it is of another program.") from None
        self.stdout.write(f"{'Would be imported' if options['dry_run'] else 'Imported'}: {counted}.")
