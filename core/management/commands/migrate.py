"""Django's own `migrate`, beside a site that is at work: see `core.operations.migrating`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections

from core.operations.migrating import MigrationRefused, migrate_beside


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if connection.vendor != "postgresql" or options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        try:
            migrate_beside(connection, lambda: super(Command, self).handle(*args, **options), say=self.stderr.write)
        except MigrationRefused as reason:
            raise CommandError(str(reason)) from None
