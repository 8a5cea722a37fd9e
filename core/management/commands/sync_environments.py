"""Bring the rows of environments in line with the specs in code."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from arena_kit.environment.registry import all_specs
from core.environments.services import environment_sync
from core.models import Environment


class Command(BaseCommand):
    help = "Create or update an environment for every info.yml; those without one become inactive."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reset-limits", action="store_true", help="also set limits and numbers of matches back to info.yml"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = [spec.slug for spec in all_specs()]
        gone = Environment.objects.exclude(slug__in=slugs)
        for environment in gone.filter(env_id__in=[spec.public_id for spec in all_specs()]):
            # An environment that was renamed in code: its name for clients belongs to the new one.
            environment.env_id = f"retired:{environment.slug}"
            environment.save(update_fields=["env_id"])
        for spec in all_specs():
            environment, is_new = environment_sync(spec=spec, reset_limits=options["reset_limits"])
            self.stdout.write(f"{environment.spec_id}: {'created' if is_new else 'up to date'}")
        for environment in gone.filter(is_active=True):
            environment.is_active = False
            environment.save(update_fields=["is_active"])
            self.stdout.write(f"{environment.slug}: no longer in the code, made inactive")
