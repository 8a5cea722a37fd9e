"""Environments that submissions add: Gymnasium here has registered them, and no file in a folder describes them.

The row holds the file that describes one, so that every machine with the database plays it by the same rules.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from arena_kit.environment.adapters.ids import kept_slug
from arena_kit.environment.availability import Unavailability
from arena_kit.environment.info import read_text
from arena_kit.environment.outside.describing import NotDescribed, described, is_registered, registered_ids
from core.environments.availability import availability_note
from core.environments.services import environment_sync
from core.errors import QuotaExceeded, Refused
from core.evaluations.episodes import spec_or_none
from core.jobs.locks import name_lock
from core.models import Agent, Environment, Evaluation, JobState, SeedList, Submission

logger = logging.getLogger(__name__)
MOST_ADDED = 200
"""The most environments in use that submissions add; organisers remove some to make room."""
UNUSED_DAYS = 30
"""After so many days an environment without agents is removed, and one where none got a score takes no place."""
REFUSED_SECONDS = 600
"""How long an id that cannot be played here is refused without another trial."""
TRIAL_SECONDS = 60
"""How long a trial whose process is killed keeps others waiting; one that lives ends sooner."""
PATIENCE_SECONDS = 10.0
"""How long a submission waits for the trial of another one."""
TRIAL_LOCK = "environment-trial"
NOT_ADDED = "not_added"
BUSY = "The arena is trying another new environment. Try again in a minute."


def added_file(slug: str) -> str:
    """Return the file of an environment that a submission added; "" for none."""
    return Environment.objects.filter(slug=slug).values_list("added_file", flat=True).first() or ""


def may_be_added(env_id: str) -> bool:
    """Return whether a submission may add an environment: it is registered here, and the arena has none of this id."""
    if settings.OPEN_ENVIRONMENTS == "false" or not is_registered(env_id):
        return False
    return not Environment.objects.filter(env_id=env_id).exists()


def addable_ids() -> list[str]:
    """Return the ids of the environments that a submission may add, sorted."""
    if settings.OPEN_ENVIRONMENTS == "false":
        return []
    known = set(Environment.objects.values_list("env_id", flat=True))
    return [env_id for env_id in registered_ids() if env_id not in known]


def environment_candidate(*, env_id: str) -> Environment:
    """Return an environment that is not stored, with what it would accept, to check a first submission against.

    Raises Refused for an id that cannot be added now.
    """
    _check_room()
    if because := cache.get(_refused_key(env_id)):
        raise Refused(because, field="env_id", code=NOT_ADDED)
    takes_players = settings.OPEN_ENVIRONMENTS == "all"
    return Environment(name=env_id, env_id=env_id, seats=1, takes_scripts=True, takes_players=takes_players)


def environment_add(*, env_id: str) -> Environment:
    """Add an environment that Gymnasium here has registered, or return the one that another submission has just added.

    It is described in a limited process, one at a time on this arena. Raises Refused with a sentence for participants.
    """
    slug = kept_slug(env_id)
    if Environment.objects.filter(slug=slug).exclude(env_id=env_id).exists():
        slug = kept_slug(env_id, is_taken=True)
    with _trial_lock(env_id) as known:
        if known is not None:
            return known
        file = _described(env_id, slug)
    with transaction.atomic():
        name_lock("environments added")
        known = Environment.objects.filter(env_id=env_id).first()
        if known is not None:
            return known
        _check_room()
        if Environment.objects.filter(slug=slug).exists():
            # Another id with the same words has just been added.
            raise _busy()
        takes_players = settings.OPEN_ENVIRONMENTS == "all"
        environment, _ = environment_sync(spec=read_text(file, env_id), added_file=file, takes_players=takes_players)
    logger.info("%s was added by a submission.", env_id, extra={"env_id": env_id})
    return environment


def environment_remove(*, environment: Environment) -> None:
    """Delete an environment that a submission added and that no agent belongs to. Raises Refused for others."""
    with transaction.atomic():
        environment = Environment.objects.select_for_update().get(pk=environment.pk)
        if not environment.is_added:
            raise Refused("It is described by a file: remove the file and run sync_environments.")
        if Agent.every.filter(environment=environment).exists() or environment.tournaments.exists():
            raise Refused("It has agents or tournaments, whose results stay. Untick “is active” to close it.")
        environment.seed_lists.all().delete()
        environment.delete()


def additions_expire(before: datetime, now: datetime, dry_run: bool) -> int:
    """Delete the environments that were added before a time and that no agent belongs to; return how many."""
    agents = Agent.every.filter(environment=OuterRef("pk"))
    rows = Environment.objects.exclude(added_file="").filter(~Exists(_fresh(before)), ~Exists(agents), tournaments=None)
    if dry_run:
        return rows.count()
    count = 0
    for row in rows.order_by("pk"):
        with suppress(Refused, Environment.DoesNotExist):
            environment_remove(environment=row)
            count += 1
    return count


@contextmanager
def additions_written() -> Iterator[tuple[Path, list[str]]]:
    """Write the files of the environments that submissions added into a folder; yield it and their slugs."""
    with tempfile.TemporaryDirectory(prefix="arena-added-") as name:
        slugs = []
        for row in Environment.objects.exclude(added_file="").order_by("slug"):
            (Path(name) / f"{row.slug}.yml").write_text(row.added_file, encoding="utf-8")
            slugs.append(row.slug)
        yield Path(name), slugs


def additions_sync(*, troubles: Mapping[str, Unavailability], reset_limits: bool) -> list[Environment]:
    """Note which environments that submissions added can still be made; return those that can.

    troubles: by slug, what a trial has found. None is retired: another Gymnasium may have it again.
    """
    made = []
    for row in Environment.objects.exclude(added_file="").order_by("slug"):
        spec = spec_or_none(row.slug)
        trouble = troubles.get(row.slug)
        if spec is None:
            trouble = Unavailability("This release of the arena cannot read the file that describes it.")
        else:
            environment_sync(spec=spec, reset_limits=reset_limits, added_file=row.added_file)
        availability_note(environment=row, trouble=trouble)
        if trouble is None:
            made.append(row)
    return made


def _check_room() -> None:
    if _in_use().count() >= MOST_ADDED:
        raise Refused(
            f"This arena has {MOST_ADDED} environments that submissions added, and accepts no more at the moment.",
            field="env_id",
            code=NOT_ADDED,
        )


def _in_use() -> QuerySet[Environment]:
    """Return the added environments that take a place: new ones, and those with a score or a new version.

    Otherwise submissions that fail would fill all places for ever.
    """
    before = timezone.now() - timedelta(days=UNUSED_DAYS)
    scores = Evaluation.objects.filter(agent__environment=OuterRef("pk"), state=JobState.SUCCEEDED)
    versions = Submission.objects.filter(agent__environment=OuterRef("pk"), created_at__gte=before)
    fresh = Exists(_fresh(before)) | Exists(versions)
    return Environment.objects.exclude(added_file="").filter(fresh | Exists(scores))


def _fresh(before: datetime) -> QuerySet[SeedList]:
    # An environment has its first lists of seeds from the moment at which it was added.
    return SeedList.objects.filter(environment=OuterRef("pk"), created_at__gte=before)


@contextmanager
def _trial_lock(env_id: str) -> Iterator[Environment | None]:
    """Lock the trial of environments; yield the environment if another submission adds it meanwhile.

    One is tried at a time, whatever the number of senders: each takes up to half a minute of a processor. Raises
    QuotaExceeded if it takes too long.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while not cache.add(TRIAL_LOCK, True, TRIAL_SECONDS):
        known = Environment.objects.filter(env_id=env_id).first()
        if known is not None:
            yield known
            return
        if time.monotonic() > until:
            raise _busy()
        time.sleep(0.2)
    try:
        yield Environment.objects.filter(env_id=env_id).first()
    finally:
        cache.delete(TRIAL_LOCK)


def _described(env_id: str, slug: str) -> str:
    try:
        return described(env_id, slug)
    except NotDescribed as trouble:
        logger.info("%s was not added: %s", env_id, trouble.detail or trouble, extra={"env_id": env_id})
        cache.set(_refused_key(env_id), str(trouble), REFUSED_SECONDS)
        raise Refused(str(trouble), field="env_id", code=NOT_ADDED) from None


def _busy() -> QuotaExceeded:
    return QuotaExceeded(BUSY, code="busy", retry_after_seconds=TRIAL_SECONDS)


def _refused_key(env_id: str) -> str:
    return f"environment-refused:{env_id.encode().hex()}"
