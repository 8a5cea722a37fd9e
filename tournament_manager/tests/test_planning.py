"""Planned tournaments begin when it is time, and commands plan them."""

from __future__ import annotations

from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from core.editions.planned import schedules_run
from core.editions.progress import tournament_begin
from core.editions.tests.samples import players
from core.editions.tests.scored import score_all
from core.models import Environment, Tournament, TournamentSchedule, TournamentState
from core.tests import factories
from tournament_manager.tasks import watchdog

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
HOUR = timedelta(hours=1)


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def overdue(environment: Environment, **fields: object) -> Tournament:
    """Planned, and its time has come."""
    cup = factories.planned(environment, registration_opens_at=None, registration_closes_at=None, **fields)
    Tournament.objects.filter(pk=cup.pk).update(starts_at=timezone.now() - HOUR)
    return cup


def test_a_planned_tournament_begins_when_it_is_time() -> None:
    environment = factories.environment()
    players(environment, 3)
    cup, later = overdue(environment), factories.planned(environment)
    watchdog()
    states = dict(Tournament.objects.filter(is_automatic=False).values_list("pk", "state"))
    assert states == {cup.pk: TournamentState.RUNNING, later.pk: TournamentState.PLANNED}


def test_a_tournament_without_enough_participants_is_called_off_with_the_reason() -> None:
    environment = factories.environment()
    players(environment, 3)
    cup = overdue(environment, format="groups-knock-out")
    watchdog()
    cup.refresh_from_db()
    assert cup.state == TournamentState.CANCELLED
    assert "need 12" in cup.cancel_reason
    assert cup.ended_at is not None


def test_a_tournament_in_trouble_or_put_off_a_moment_ago_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    environment = factories.environment()
    players(environment, 3)
    broken, put_off, _ = (overdue(environment, name=name) for name in ("broken", "put off", "cup"))
    Tournament.objects.filter(pk=broken.pk).update(settings=[])

    def replanned_first(tournament: Tournament, *, now: datetime) -> Tournament:
        Tournament.objects.filter(pk=put_off.pk).update(starts_at=now + HOUR)
        return tournament_begin(tournament, now=now)

    monkeypatch.setattr("core.editions.planned.tournament_begin", replanned_first)
    watchdog()

    states = dict(Tournament.objects.filter(is_automatic=False).values_list("name", "state"))
    assert states == {"broken": "PLANNED", "put off": "PLANNED", "cup": "RUNNING"}
    assert "Tic-tac-toe: broken could not be updated." in caplog.text


def test_schedules_are_carried_out_once_by_the_watchdog() -> None:
    row = factories.schedule(factories.environment(), registration_hours=1)
    watchdog()
    watchdog()
    assert Tournament.objects.get().schedule == row


def test_starting_a_tournament_begins_one_in_the_format_that_is_asked_for() -> None:
    players(factories.environment(), 4)
    said = run("tournament", "start", "tic-tac-toe", "--format", "swiss", "--set", "rounds=2", "--set", "pairs=3",
               "--name", "Cup", "--unrated", "--seed", "7")  # fmt: skip
    cup = Tournament.objects.get()
    assert said == "Started Tic-tac-toe: Cup with 2 duels.\n"
    assert (cup.state, cup.format, cup.is_rated, cup.is_automatic, cup.seed) == ("RUNNING", "swiss", False, False, 7)
    assert cup.settings["rounds"] == 2


def test_starting_a_tournament_of_agents_that_play_alone_evaluates_them() -> None:
    rows = players(factories.task(), 3)
    assert run("tournament", "start", "cart-pole", "--name", "Finals") == (
        "Started CartPole: Finals with 3 evaluations.\n"
    )
    cup = score_all(Tournament.objects.get(format="score"), rows, [1.0, 2.0, 3.0])
    assert cup.state == TournamentState.FINISHED
    with pytest.raises(CommandError, match="it has no rounds"):
        run("tournament", "void-round", "cart-pole", f"{cup.edition}", "1", "--reason", "Why not.")
    with pytest.raises(CommandError, match="has one seat, so its agents never meet"):
        run("tournament", "start", "cart-pole", "--format", "swiss")


def test_starting_a_tournament_plans_one_for_later_with_a_registration() -> None:
    factories.environment()
    said = run("tournament", "start", "tic-tac-toe", "--name", "Cup", "--at", "2126-12-04T18:00", "--registration")
    assert said == "Planned Tic-tac-toe: Cup as edition 1: 4 Dec 2126, 18:00 UTC.\n"
    assert Tournament.objects.get().has_registration


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--format", "groups-knock-out"], "need 12"),
        (["--format", "swiss", "--set", "legs=2"], "Swiss has no setting 'legs'"),
        (["--set", "legs"], "--set legs is not understood"),
        (["--at", "friday"], "'friday' is not a time"),
        (["--at", "2020-01-01"], "is in the past. Set a later time"),
        (["--registration"], "needs time to register: add --at"),
        # What is there and says nothing, or what no column holds, stands for no other wish.
        (["--at", ""], "'' is not a time"),
        (["--at", "9999-12-31T23:59-12:00"], "is not a time"),
        (["--name", "\u200b"], "name is empty"),
        (["--name", 101 * "x"], "at most 100 characters; this one has 101"),
        (["--max-participants", "0"], "let at least as many in"),
        (["--teams", " "], "Name the teams"),
        (["--seed", "-1"], "The seed is -1"),
        (["--seed", str(2**64)], "make it a whole number from 1 to 2147483647"),
    ],
)
def test_starting_a_tournament_leaves_nothing_behind_when_it_cannot(arguments: list[str], sentence: str) -> None:
    players(factories.environment(), 2)
    with pytest.raises(CommandError) as error:
        run("tournament", "start", "tic-tac-toe", *arguments)
    assert sentence in str(error.value)
    assert not Tournament.objects.exists()


def test_starting_a_tournament_waits_for_the_end_and_shows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    players(factories.environment(), 2)

    def ends(_: float) -> None:
        Tournament.objects.update(state=TournamentState.FINISHED, ended_at=timezone.now())

    monkeypatch.setattr("tournament_manager.management.tournaments.start.time.sleep", ends)
    said = run("tournament", "start", "tic-tac-toe", "--wait").splitlines()
    assert said[:2] == ["Started Tic-tac-toe edition 1 with 1 duel.", "Running: 0 of 1 duels over."]
    assert len(said) == 4


def test_scheduling_tournaments_adds_lists_and_removes() -> None:
    factories.environment()
    said = run("tournament", "schedule", "tic-tac-toe", "--cron", "0 18 * * 5", "--format", "swiss", "--set",
               "rounds=3", "--name", "weekly", "--registration-hours", "48", "--seasons")  # fmt: skip
    assert said.startswith("Scheduled weekly; next on ")
    row = TournamentSchedule.objects.get()
    assert (row.cron, row.format, row.settings, row.registration_hours) == ("0 18 * * 5", "swiss", {"rounds": 3}, 48)
    assert row.in_season
    assert run("tournament", "schedule", "--list").startswith("weekly: tic-tac-toe, swiss, '0 18 * * 5', next ")
    for option, value, sentence in (
        ("--registration-hours", "-3", "Hours of a schedule range from 0 to 8784"),
        ("--name", " ", "enter one"),
        ("--name", 81 * "x", "at most 80 characters"),
        ("--title", "", "enter one"),
        ("--teams", " ", "Name the teams"),
    ):
        with pytest.raises(CommandError, match=sentence):
            run("tournament", "schedule", "tic-tac-toe", "--cron", "0 18 * * 5", option, value)
    for name in ("weekly", " weekly\u200b"):
        with pytest.raises(CommandError, match="There is a schedule 'weekly' already"):
            run("tournament", "schedule", "tic-tac-toe", "--cron", "0 18 * * 5", "--name", name)
    with pytest.raises(CommandError, match="There is no schedule 'daily'. There are: weekly."):
        run("tournament", "schedule", "--remove", "daily")
    run("tournament", "schedule", "--remove", "weekly")
    assert run("tournament", "schedule", "--list") == ""


@pytest.mark.parametrize(
    ("slug", "cron", "sentence"),
    [
        ("chess", "0 18 * * 5", r"no environment 'chess'\. There are: cart-pole, tic-tac-toe"),
        ("tic-tac-toe", "0 0 30 2 *", "never occurs"),
        ("tic-tac-toe", "", "Name an environment and --cron"),
    ],
)
def test_scheduling_tournaments_says_why_not(slug: str, cron: str, sentence: str) -> None:
    factories.environment()
    factories.task()
    with pytest.raises(CommandError, match=sentence):
        run("tournament", "schedule", slug, "--cron", cron)
    Environment.objects.update(is_active=False)
    with pytest.raises(CommandError, match="inactive; make it active first"):
        run("tournament", "schedule", "tic-tac-toe", "--cron", "0 18 * * 5")


def test_a_schedule_that_cannot_be_read_leaves_the_others_their_tournament() -> None:
    environment = factories.environment()
    long_ago = timezone.now() - timedelta(days=2)
    poisoned, good = (
        TournamentSchedule.objects.create(
            environment=environment, name=name, title="cup", cron=cron, handled_until=long_ago, registration_hours=1
        )
        for name, cron in (("poisoned", "never"), ("good", "0 12 * * *"))
    )
    schedules_run(now=timezone.now())
    assert (poisoned.tournaments.count(), good.tournaments.count()) == (0, 1)
