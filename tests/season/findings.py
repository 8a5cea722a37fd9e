"""What a season came to, and what it has left that belongs to nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive
from arena_kit.image.engine import connect
from tests.season.season import Season, again
from tests.season.stores import Store

CLEAN_SECONDS = 200.0


@again
def results() -> dict[str, list[str]]:
    """Standings, ledger, ratings and scores as lines that do not depend on ids and times."""
    from core.models import Duel, Evaluation, LedgerEntry, Participant, Rating

    participants = Participant.objects.select_related("tournament", "submission__agent")
    entries = LedgerEntry.objects.select_related("duel__tournament", "submission__agent", "opponent__agent")
    ratings = Rating.objects.select_related("submission__agent")
    evaluations = Evaluation.objects.select_related("submission__agent")
    return {
        "standings": sorted(
            f"{row.tournament.edition} {row.submission.agent.name} {row.rank} {row.points} {row.wins} {row.draws} "
            f"{row.losses} {_exact(row.total_score)} {_exact(row.rating)}"
            for row in participants
        ),
        "ledger": sorted(
            f"{row.duel.its_tournament.edition}/{row.duel.number} {row.submission.agent.name} {row.seat} "
            f"{row.opponent.agent.name} {row.wins} {row.losses} {row.draws} {row.errors} {row.opponent_errors} "
            f"{_exact(row.score)}"
            for row in entries
        ),
        # Not the chance to be the best: its draws follow the ids. Not the live rating: it follows the order in which
        # results came in, see `wrong_live_ratings`.
        "ratings": sorted(
            f"{row.submission.agent.name} {_exact(row.low)} {_exact(row.value)} {_exact(row.high)} "
            f"{row.duel_count} {row.match_count}"
            for row in ratings
        ),
        "plays": sorted(
            f"{duel.its_tournament.edition}/{duel.number} {duel.state} {duel.outcome} {duel.record_sha256}"
            for duel in Duel.objects.select_related("tournament")
        ),
        "scores": sorted(
            f"{row.submission.agent.name} {row.state} {_exact(row.score)} {_exact(row.median)} {row.record_sha256}"
            for row in evaluations
        ),
    }


@again
def wrong_live_ratings() -> list[str]:
    """Agents whose live rating, kept step by step, is not the one that the whole ledger gives."""
    from core.editions.follow import rebuild
    from core.models import Environment, Rating

    kept = dict(Rating.objects.values_list("submission__agent__name", "live"))
    for environment in Environment.objects.filter(is_active=True, seats__gt=1):
        rebuild(environment)
    made = dict(Rating.objects.values_list("submission__agent__name", "live"))
    return [f"the live rating of {name}: {kept.get(name)}, not {value}" for name, value in made.items()
            if kept.get(name) != value]  # fmt: skip


@again
def lost(files: Mapping[str, int]) -> list[str]:
    """Jobs that ended without what they should have brought, and artifacts that are missing or torn."""
    from django.db.models import FileField

    from core.jobs.kinds import JOB_MODELS
    from core.models import Duel

    found = []
    for model in JOB_MODELS.values():
        fields = [field.name for field in model._meta.concrete_fields if isinstance(field, FileField)]
        for job in model._default_manager.all():
            if job.state != "SUCCEEDED":
                found.append(f"{job.KIND} {job.pk}: {job.state} {job.error_code} {job.error}")
            found += [
                f"{job.KIND} {job.pk}: its {name} is missing or empty"
                for name in fields
                if getattr(job, name) and not files.get(str(getattr(job, name)))
            ]
    for duel in Duel.objects.filter(state="SUCCEEDED"):
        try:
            with duel.records.open("rb") as file:
                archive = DuelArchive(file)
                for number in range(1, duel.match_count + 1):
                    archive.match(number)
        except (OSError, LookupError, ArtifactDamaged) as error:
            found.append(f"duel {duel.pk}: its records are torn: {error}")
        if duel.ledger_entries.count() < 4:
            found.append(f"duel {duel.pk}: {duel.ledger_entries.count()} entries in the ledger")
    return found


@again
def duplicated() -> list[str]:
    """What is there more than once."""
    from django.db.models import Count

    from core.models import Duel, Evaluation, Submission

    found = [
        f"duel {row['pk']}: {row['entries']} entries in the ledger"
        for row in Duel.objects.order_by().values("pk").annotate(entries=Count("ledger_entries"))
        if row["entries"] > 4
    ]
    builds = Submission.objects.order_by().values("pk").annotate(times=Count("validations")).filter(times__gt=1)
    found += [f"submission {row['pk']}: {row['times']} validations of one build" for row in builds]
    scores = Evaluation.objects.order_by().values("submission").annotate(times=Count("pk")).filter(times__gt=1)
    found += [f"submission {row['submission']}: {row['times']} evaluations" for row in scores]
    return found


@again
def leftovers(season: Season, store: Store, *, workers_live: bool) -> list[str]:
    """Containers, images, networks, volumes and files that belong to nothing any more."""
    from core.models import Submission

    found = [f"file {name}" for name in unnamed_files(store.files())]
    from arena_kit.sandbox.lock_file import tokens_alive
    from duel_runner.workplace import worker_label

    alive = tokens_alive(season.channels) if workers_live and season.channels.is_dir() else frozenset()
    named = set(Submission.objects.values_list("image", flat=True))
    client = connect()
    try:
        for container in client.containers.list(all=True, ignore_removed=True):
            found += [f"container {container.name}"] if container.labels.get(worker_label()) not in alive else []
        for image in client.images.list():
            found += [f"image {tag}" for tag in image.tags if tag.startswith(season.prefix) and tag not in named]
            found += [] if image.tags else [f"image {image.short_id} without a name"]
        networks = client.networks.list()
        found += [f"network {row.name}" for row in networks if row.name not in ("none", "host", "bridge")]
        found += [f"volume {volume.name}" for volume in client.volumes.list()]
    finally:
        client.close()
    if not workers_live:
        # The locks of inspections stay: all processes of a user share them.
        found += [
            f"temporary {path.name}"
            for path in season.temporary.iterdir()
            if not path.name.startswith("arena-inspections-")
        ]
        found += [f"channel {path.name}" for path in season.channels.iterdir() if not path.name.startswith("core-")]
    return found


def unnamed_files(files: Mapping[str, int]) -> list[str]:
    """Files of a store that no row names."""
    from django.apps import apps
    from django.db.models import FileField

    named = set()
    for model in apps.get_app_config("core").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, FileField):
                named |= set(model._default_manager.values_list(field.name, flat=True))
    return [name for name in files if name not in named]


def await_clean(season: Season, store: Store) -> float:
    """Wait until the arena itself has removed what dead workers left; return the seconds it took."""
    begun = time.monotonic()
    while time.monotonic() - begun < CLEAN_SECONDS and leftovers(season, store, workers_live=True):
        time.sleep(2.0)
    return time.monotonic() - begun


def as_bytes(results: Mapping[str, Sequence[str]]) -> bytes:
    """What is compared."""
    return json.dumps(results, indent=1, sort_keys=True).encode()


def _exact(value: float | None) -> str:
    return "-" if value is None else float(value).hex()
