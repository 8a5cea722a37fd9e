"""Every migration on data: rows of the first day live through all of them, forward, backward and forward again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from core.models import ApiToken, Build, Duel, LedgerVoid, Rating, RatingPoint, Recording, Submission
from core.operations.alarms import alarm_raise
from core.tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
FIRST = ("core", "0001_initial")
NOON = datetime(2025, 3, 1, 12, 0, tzinfo=UTC)
Rows = dict[str, dict[object, dict[str, object]]]
"""By table and key, what the columns hold."""
MADE_WHOLE = {("core_build", "ended_at"), ("core_build", "fault")}
"""What a migration is there to repair."""


def plan() -> list[tuple[str, str]]:
    """All migrations of the core, in their order."""
    executor = MigrationExecutor(connection)
    (newest,) = executor.loader.graph.leaf_nodes("core")
    return [node for node in executor.loader.graph.forwards_plan(newest) if node[0] == "core"]


def go_to(target: tuple[str, str], look: Callable[[str], None] = lambda _: None) -> None:
    """Migrate the core to this, each migration in a transaction of its own; `look` is called after each."""

    def progress(action: str, migration: Migration | None = None, fake: bool | None = False) -> None:
        if action in ("apply_success", "unapply_success"):
            look(f"{action} {migration}")

    MigrationExecutor(connection, progress).migrate([target])


@pytest.fixture(autouse=True)
def newest_afterwards() -> Iterator[None]:
    yield
    go_to(plan()[-1])


def rows() -> Rows:
    found: Rows = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith("core_") and table not in ("core_user_groups", "core_user_user_permissions"):
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
                columns = [column[0] for column in cursor.description]
                key = columns.index("id") if "id" in columns else 0
                found[table] = {row[key]: dict(zip(columns, row, strict=True)) for row in cursor}
    return found


class Watched:
    """Rows as they are now; after each step tables hold the same rows as before it, the same in all common columns."""

    def __init__(self) -> None:
        self._before = rows()

    def look(self, step: str) -> None:
        before, self._before = self._before, rows()
        for table in before.keys() & self._before.keys():
            after = self._before[table]
            assert before[table].keys() == after.keys(), (step, table)
            for key, old in before[table].items():
                changed = {
                    name: (value, after[key][name])
                    for name, value in old.items()
                    if name in after[key] and after[key][name] != value and (table, name) not in MADE_WHOLE
                }
                assert not changed, (step, table, key)


def first_day(models: Any) -> None:
    """An arena as the first version left it: a played edition, a struck duel, a job that runs, one that broke."""

    def make(model: str, /, **fields: object) -> Any:
        return models.get_model("core", model).objects.create(**fields)

    people = [make("User", username=name, email=f"{name}@arena.example") for name in ("ann", "bob")]
    limits = {"memory_limit_bytes": 2**28, "move_seconds": 1, "bank_seconds": 1, "start_seconds": 1, "duel_seconds": 1}
    environment = make(
        "Environment", slug="tic-tac-toe", version=1, name="Tic-tac-toe", description="", image="", seats=2,
        matches_per_duel=10, matches_per_validation=4, **limits,
    )  # fmt: skip
    played = {"environment_version": "tic-tac-toe-v1", "seed": 7}
    ended = {"state": "SUCCEEDED", "started_at": NOON, "ended_at": NOON}
    submissions = []
    for number, person in enumerate(people):
        agent = make("Agent", environment=environment, owner=person, name=f"agent-{number}")
        submission = make(
            "Submission", agent=agent, number=1, archive=f"archives/{number}.zip", archive_sha256="0" * 64,
            archive_bytes=4,
        )  # fmt: skip
        make("Build", submission=submission, **ended)
        make("Validation", submission=submission, match_count=4, matches_done=4, **played, **ended)
        make("Publication", submission=submission, url="https://git.example/", **ended)
        make("Rating", submission=submission, value=1500 + number, duel_count=1)
        submissions.append(submission)
    one, two = submissions
    # What no version should have left behind.
    make("Build", submission=one, state="FAILED")
    make("Build", submission=two)
    tournament = make("Tournament", environment=environment, edition=1, state="FINISHED", ended_at=NOON)
    make("Participant", tournament=tournament, submission=one, wins=1, points=2, rank=1)
    make("Participant", tournament=tournament, submission=two, losses=1, rank=2)
    result = {"outcome": "PLAYER_1", "player_1_wins": 10, "matches_done": 10, "match_count": 10}
    duel = make(
        "Duel", tournament=tournament, number=1, round=1, player_1=one, player_2=two, **result, **played, **ended
    )
    entry = {"draws": 0, "errors": 0, "opponent_errors": 0, "duel": duel}
    make("LedgerEntry", submission=one, opponent=two, seat=0, wins=10, losses=0, score=10, **entry)
    make("LedgerEntry", submission=two, opponent=one, seat=1, wins=0, losses=10, score=-10, **entry)
    make("LedgerVoid", duel=duel, reason="The clock was wrong.", created_by=people[0])


def later_days() -> None:
    """What later versions added, in the newest form."""
    owner = factories.user("olive")
    evaluation = factories.evaluation(factories.ready(factories.agent(owner, factories.task())))
    factories.recording(evaluation, Recording.Choice.BEST)
    factories.script_evaluation(factories.script(factories.agent(owner, factories.task())))
    ApiToken.objects.create(owner=owner, name="notebook", digest="0" * 64, hint="rla_1234")
    alarm_raise(key="disk-full", message="The disk is full.")


def test_rows_of_the_first_version_live_through_every_migration_and_back() -> None:
    steps = plan()
    assert steps[0] == FIRST
    go_to(FIRST)
    first_day(MigrationExecutor(connection).loader.project_state(FIRST).apps)

    go_to(steps[-1], Watched().look)
    assert set(Submission.objects.values_list("agent__name", flat=True)) == {"agent-0", "agent-1"}
    assert len(set(Submission.objects.values_list("public_id", flat=True))) == 2
    assert Duel.objects.get(void__isnull=False).ledger_entries.count() == 2
    assert LedgerVoid.objects.get().created_by is not None
    broken = Build.objects.get(state="FAILED")
    assert (broken.ended_at, broken.fault) == (broken.created_at, "PLATFORM")

    later_days()
    watched = Watched()
    go_to(FIRST, watched.look)
    go_to(steps[-1], watched.look)


def test_rows_that_new_conditions_refuse_are_named_with_what_they_break() -> None:
    before = ("core", "0015_jobs_made_whole")
    go_to(before)
    models = MigrationExecutor(connection).loader.project_state(before).apps
    first_day(models)
    models.get_model("core", "Duel").objects.update(verdict="VERIFIED")
    broken = models.get_model("core", "Build").objects.filter(state="FAILED")
    for build in models.get_model("core", "Build").objects.filter(state="SUCCEEDED"):
        for _ in range(2):
            broken.create(submission=build.submission, state="FAILED")
    numbers = list(broken.order_by("pk").values_list("pk", flat=True))
    left = rows()

    with pytest.raises(CommandError) as refused:
        go_to(plan()[-1])

    named = [line.partition(", which")[0].strip() for line in str(refused.value).splitlines() if "which is" in line]
    assert named == [
        f"core_build, id {', '.join(map(str, numbers[:3]))} and more: build_state_is_whole",
        f"core_duel, id {Duel.objects.values_list('pk', flat=True).get()}: duel_verdict_is_dated",
    ]
    assert rows() == left
    models.get_model("core", "Duel").objects.update(verdict="")
    broken.delete()
    go_to(plan()[-1])


@pytest.mark.django_db
def test_what_older_code_has_no_place_for_is_named_before_anything_is_undone() -> None:
    players = [factories.ready(factories.agent(factories.user(name), factories.environment())) for name in "ab"]
    factories.planned(players[0].agent.environment)
    factories.challenged(*players)

    with pytest.raises(CommandError, match=r"Nothing was undone[^$]*challenges: 1\n[^$]*before they began: 1\nTo go"):
        call_command("migrate", "core", "0019", verbosity=0)

    assert plan()[-1] in MigrationExecutor(connection).loader.applied_migrations


def test_elo_stands_in_for_official_ratings_and_comes_back_with_older_code() -> None:
    player = factories.ready(factories.agent(factories.user("olive"), factories.environment()))
    tournament = factories.tournament([player])
    tournament.participants.update(rating=1590)
    row = factories.rating(player, 1600)
    assert row.live == 1620
    go_to(("core", "0018_last_finished"))
    (older,) = rows()["core_rating"].values()
    assert older["value"] == 1620
    go_to(plan()[-1])
    # What editions have kept is the beginning of the history.
    point = RatingPoint.objects.get()
    assert (point.submission_id, point.environment_id) == (player.pk, tournament.environment_id)
    assert (point.at, point.value, point.low, point.rank) == (tournament.ended_at, 1590, None, None)
    shown = Rating.objects.values_list("low", "value", "high", "live", "rank", "best_chance").get()
    assert shown == (1620, 1620, 1620, 1620, None, None)
