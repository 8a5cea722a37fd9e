"""Update the rows of environments from the specs in code."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from arena_kit.environment.availability import Trials, Trouble
from arena_kit.environment.registry import all_specs, left_out, own_slugs
from core.environments.availability import RETIRED, availability_note, environment_retire, left_out_note
from core.environments.services import environment_sync
from core.models import Environment

UNREADABLE = Trouble("Its code was not found, and some files of organisers' environments cannot be used.")


class Command(BaseCommand):
    help = "Create or update an environment for every info.yml; environments without one become inactive."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reset-limits", action="store_true", help="also reset limits and match counts to those of info.yml"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        specs = all_specs()
        # Runs in parallel with the following lines.
        trials = Trials([spec.slug for spec in specs], (settings.ENVIRONMENTS_DIR,))
        slugs = [spec.slug for spec in specs]
        gone = Environment.objects.exclude(slug__in=slugs)
        for environment in gone.filter(env_id__in=[spec.public_id for spec in specs]):
            # The environment was renamed in code: the new one takes over its name for clients.
            environment.env_id = f"retired:{environment.slug}"
            environment.save(update_fields=["env_id"])
        known = set(Environment.objects.values_list("slug", flat=True))
        troubles = trials.finish()
        # A broken environment of the organiser is left out if it is new; one with results stays and says why.
        new = own_slugs() - known
        broken = {slug: trouble for slug, trouble in troubles.items() if slug in new and not trouble.is_missing}
        for spec in specs:
            if spec.slug in broken:
                continue
            environment, is_new = environment_sync(spec=spec, reset_limits=options["reset_limits"])
            availability_note(environment=environment, trouble=troubles.get(spec.slug))
            self.stdout.write(f"{environment.spec_id}: {'created' if is_new else 'up to date'}")
        for environment in gone.exclude(is_active=False, unavailable_because=RETIRED):
            if left_out():
                # It may be among the files that cannot be read, so its duels wait until those are mended.
                availability_note(environment=environment, trouble=UNREADABLE)
                self.stdout.write(f"{environment.slug}: not available here. {UNREADABLE.because}")
                continue
            count = environment_retire(environment=environment)
            cancelled = f"; open duels cancelled: {count}" if count else ""
            self.stdout.write(f"{environment.slug}: no longer in the code, made inactive{cancelled}")
        for slug in sorted(set(troubles) - set(broken)):
            trouble = troubles[slug]
            self.stdout.write(f"{slug}: not available here. {trouble.because} {trouble.hint}".rstrip())
        for sentence in left_out_note(files=left_out(), broken=broken):
            self.stdout.write(f"Left out: {sentence}")
