"""One environment's row is made equal to its spec, and what that changed is said: by the command and by the page."""

from __future__ import annotations

from django.db import DatabaseError
from django.db.models import Sum

from arena_kit.environment.availability import Unavailability
from arena_kit.environment.info import file_name
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from core.environments.availability import availability_note, trouble_in_pods
from core.environments.services import choices_of, environment_sync
from core.jobs.states import OPEN
from core.models import Duel, Environment, Evaluation, Validation


class NotSynced(Exception):
    """An organiser's environment cannot have a row; the message is a sentence."""


def spec_sync(
    *, spec: EnvironmentSpec, trouble: Unavailability | None, reset_limits: bool, applied_by: str = "`--reset-limits`"
) -> list[str]:
    """Write the row of a spec; return sentences about it. Raises NotSynced.

    trouble: why it cannot be made. applied_by: what the limits of the file are applied by, in words.
    """
    other = Environment.objects.filter(slug=spec.slug).exclude(added_file="").exclude(env_id=spec.public_id).first()
    if other is not None:
        raise NotSynced(f"{spec.slug}: slug: a submission added another environment of this slug, {other.env_id}.")
    before = Environment.objects.filter(slug=spec.slug).first()
    try:
        environment, _ = environment_sync(spec=spec, reset_limits=reset_limits)
    except DatabaseError as error:
        if not spec.is_outside:
            raise
        raise NotSynced(f"{file_name(spec.file)}: the database refuses it: {' '.join(str(error).split())}") from None
    said = []
    if trouble is None and (trouble := trouble_in_pods(environment, spec)) is not None:
        said.append(f"{spec.slug}: not available here. {trouble.because} {trouble.hint}")
    availability_note(environment=environment, trouble=trouble)
    what = "created" if before is None else _changes(before, environment, spec, applied_by)
    return [*said, f"{environment.spec_id}: {what}"]


def _changes(before: Environment, environment: Environment, spec: EnvironmentSpec, applied_by: str) -> str:
    """Return what a sync has changed, and where organisers' settings differ from the file."""
    said = ["active again"] if environment.is_active and not before.is_active else []
    if before.version != environment.version:
        said.append(f"the rules have changed: {_new_rules(before, environment)}")
    differs = choices_differing(environment, spec)
    if differs:
        said += [*differs, f"{applied_by} applies {'it' if len(differs) == 1 else 'them'}"]
    return "; ".join(said) or "up to date"


def choices_differing(environment: Environment, spec: EnvironmentSpec) -> list[str]:
    """Return where organisers' settings differ from the file, in words."""
    return [
        f"{name.replace('_', ' ')}: {getattr(environment, name)} here, {value} in {spec.file.name}"
        for name, value in choices_of(spec).items()
        if getattr(environment, name) != value
    ]


def _new_rules(before: Environment, environment: Environment) -> str:
    """Return what follows from new rules, in words."""
    earlier, now = {"environment_version__in": before.rules_ids}, {"environment_version": environment.spec_id}
    if environment.is_scored:
        again = Evaluation.objects.filter(**now, state__in=OPEN).count()
        done, words = Evaluation.objects.filter(**earlier).count(), ("evaluation", "evaluations")
    else:
        again = Validation.objects.filter(**now, state__in=OPEN).count()
        done = Duel.objects.filter(**earlier).aggregate(sum=Sum("matches_done"))["sum"] or 0
        words = ("match", "matches")
    its = f"its {done} {words[done != 1]}"
    try:
        get_spec(before.spec_id)
        kept = f"is kept for {its}"
    except UnknownEnvironment:
        kept = f"is not kept, and {its} can be neither drawn nor checked"
    versions = "1 version is" if again == 1 else f"{again} versions are"
    return f"{versions} {'evaluated' if environment.is_scored else 'validated'} again, {before.spec_id} {kept}"
