"""Update the rows of environments from the specs in code."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Exists, OuterRef

from arena_kit.environment.availability import Trials, Unavailability
from arena_kit.environment.outside.copies import copies_announce, copy_keep
from arena_kit.environment.registry import LeftOut, all_specs, left_out, notes, own_slugs, try_again
from arena_kit.environment.spec import EnvironmentSpec
from core.environments.additions import additions_sync, additions_written
from core.environments.availability import (
    RETIRED,
    availability_note,
    environment_retire,
    left_out_note,
)
from core.environments.syncing import NotSynced, spec_sync
from core.models import Agent, Environment, EnvironmentKind

MISSING = Unavailability(
    "Its folder or file is missing.",
    hint="Put it back and run `sync_environments`, or close it for good with `sync_environments --retire SLUG`.",
)
UNREADABLE = Unavailability("Its code was not found, and some files of organisers' environments cannot be used.")


class Command(BaseCommand):
    help = "Create or update an environment for every info.yml; those without one wait for it if they have agents."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--reset-limits", action="store_true", help="also reset limits and match counts to those of info.yml"
        )
        parser.add_argument(
            "--allow-left-out",
            action="store_true",
            help="succeed although environments of your own are left out or missing; alarms name them",
        )
        parser.add_argument(
            "--retire",
            action="append",
            default=[],
            metavar="SLUG",
            help="close an environment whose code is gone for good, and cancel its open duels",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try_again()
        specs = all_specs()
        # Runs in parallel with the following lines. Folders with code have just been tried by `all_specs`.
        slugs = [spec.slug for spec in specs if spec.gymnasium is not None or not spec.is_outside]
        with additions_written() as (folder, added):
            trials = Trials([*slugs, *added], (settings.ENVIRONMENTS_DIR, folder))
            self._give_names_back(specs)
            known = set(Environment.objects.values_list("slug", flat=True))
            troubles = trials.finish()
        self._copy(specs, troubles)
        # A broken environment of the organiser is left out if it is new; one with results stays and says why.
        new = own_slugs() - known
        broken = {slug: trouble for slug, trouble in troubles.items() if slug in new and not trouble.is_missing}
        for spec in specs:
            if spec.slug in broken:
                continue
            try:
                for sentence in spec_sync(
                    spec=spec, trouble=troubles.get(spec.slug), reset_limits=options["reset_limits"]
                ):
                    self.stdout.write(sentence)
            except NotSynced as error:
                broken[spec.slug] = Unavailability(str(error))
        for environment in additions_sync(troubles=troubles, reset_limits=options["reset_limits"]):
            self.stdout.write(f"{environment.spec_id}: added by a submission, up to date")
        missing = self._close_gone(specs, left_out(), options["retire"])
        for slug in sorted(set(troubles) - set(broken)):
            trouble = troubles[slug]
            self.stdout.write(f"{slug}: not available here. {trouble.because} {trouble.hint}".rstrip())
        for note in notes():
            self.stdout.write(f"Note: {note}")
        sentences = left_out_note(files=left_out(), broken=broken)
        for sentence in sentences:
            self.stdout.write(f"Left out: {sentence}")
        if (sentences or missing) and not options["allow_left_out"]:
            what = f"are missing: {', '.join(missing)}" if missing else "are left out"
            raise CommandError(f"Some environments {what}. All others are up to date.", returncode=1)

    def _give_names_back(self, specs: tuple[EnvironmentSpec, ...]) -> None:
        """Free the public names of environments that were renamed in code: the new ones take them over."""
        gone = Environment.objects.filter(kind=EnvironmentKind.RULES).exclude(slug__in=[spec.slug for spec in specs])
        for environment in gone.filter(env_id__in=[spec.public_id for spec in specs]):
            environment.env_id, environment.added_file = f"retired:{environment.slug}", ""
            environment.save(update_fields=["env_id", "added_file"])

    def _copy(self, specs: tuple[EnvironmentSpec, ...], troubles: Mapping[str, Unavailability]) -> None:
        """Keep a copy of organisers' environments, by which their results are drawn and checked after new rules."""
        try:
            for spec in specs:
                if spec.is_outside and spec.slug not in troubles:
                    copy_keep(spec)
            copies_announce(settings.ENVIRONMENTS_DIR)
        except OSError as error:
            self.stdout.write(f"Note: no copies are kept, and site and workers have to be restarted: {error}")

    def _close_gone(
        self, specs: tuple[EnvironmentSpec, ...], files: tuple[LeftOut, ...], retired: Sequence[str]
    ) -> list[str]:
        """Close the environments without a spec, and return those that are missing although they have agents.

        Their duels wait, because a folder may be missing by mistake: only those to be retired are closed for good.
        """
        broken = {one.slug: one.because for one in files}
        rows = Environment.objects.filter(added_file="", kind=EnvironmentKind.RULES).exclude(
            slug__in=[spec.slug for spec in specs]
        )
        gone = list(rows.annotate(has_agents=Exists(Agent.every.filter(environment=OuterRef("pk")))))
        known = {environment.slug for environment in gone}
        if wrong := sorted(set(retired) - known):
            raise CommandError(f"{wrong[0]} is no environment whose code is gone.")
        # The slug in a broken file cannot always be read, so it may be that of any environment without a spec.
        unknown = broken.keys() - known
        missing = []
        for environment in gone:
            slug = environment.slug
            was_closed = not environment.is_active and environment.unavailable_because == RETIRED
            if because := broken.get(slug, UNREADABLE.because if unknown else ""):
                trouble = Unavailability(because)
            elif environment.has_agents and slug not in retired and not was_closed:
                trouble = replace(MISSING, hint=MISSING.hint.replace("SLUG", slug))
                missing.append(slug)
            else:
                count = environment_retire(environment=environment)
                if count or not was_closed:
                    cancelled = f"; open duels cancelled: {count}" if count else ""
                    self.stdout.write(f"{slug}: no longer in the code, made inactive{cancelled}")
                continue
            availability_note(environment=environment, trouble=trouble)
            self.stdout.write(f"{slug}: not available here. {trouble.because} {trouble.hint}".rstrip())
        return missing
