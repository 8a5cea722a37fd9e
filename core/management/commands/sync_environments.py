"""Bring the rows of environments in line with the specs in code."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from core.models import Environment
from core.services.environments import environment_sync
from environments.registry import all_specs


class Command(BaseCommand):
    help = "Create or update an environment for every info.yml; those without one become inactive."

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = []
        for spec in all_specs():
            environment, is_new = environment_sync(spec=spec)
            slugs.append(environment.slug)
            self.stdout.write(f"{environment.spec_id}: {'created' if is_new else 'up to date'}")
        for environment in Environment.objects.exclude(slug__in=slugs).filter(is_active=True):
            environment.is_active = False
            environment.save(update_fields=["is_active"])
            self.stdout.write(f"{environment.slug}: no longer in the code, made inactive")
