"""What goes after its days, what never goes, and what pages and programs are told then."""

from __future__ import annotations

import io
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core import serializers
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, default_storage, storages
from django.core.management import CommandError, call_command
from django.db.models import FileField
from django.test import Client
from django.utils import timezone
from django_q.models import Task
from pytest_django.fixtures import Settings

from core.editions.fits import ratings_refresh
from core.editions.follow import standings_refresh
from core.jobs.lifecycle import job_claim
from core.models import (
    Agent,
    Alarm,
    Duel,
    Evaluation,
    LedgerEntry,
    Participant,
    Rating,
    RecheckVerdict,
    Recording,
    Rollout,
    Run,
    Submission,
    TournamentState,
)
from core.notices.alarms import alarm_raise, alarm_settle
from core.operations.retention import retention_apply, retention_run
from core.rollouts.judging import can_be_judged
from core.submissions.existing import submission_rebuild
from core.submissions.phases import build_succeed
from core.tests import applications, factories
from duel_runner.recheck.sample import results_recheck
from web.tests import played, scored

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("store")]
NOW = timezone.now()
LONG_AGO = NOW - timedelta(days=100)
NAMES = ("logs", "records", "recordings", "rollouts", "images")


@pytest.fixture(autouse=True)
def days(settings: Settings) -> None:
    settings.KEEP_DAYS = dict.fromkeys(NAMES, 30)


@pytest.fixture
def duel() -> Duel:
    """A duel of a finished edition, played and verified long ago."""
    environment = factories.environment()
    owner = factories.user("alice")
    players = [played.ready(factories.agent(owner, environment, name)) for name in ("anna", "berta")]
    tournament = played.edition(players, environment)
    row = played.play(played.waiting_duel(tournament, players[0], players[1]))
    standings_refresh(tournament)
    ratings_refresh(environment)
    tournament.state, tournament.ended_at = TournamentState.FINISHED, LONG_AGO
    tournament.save()
    Duel.objects.update(ended_at=LONG_AGO, started_at=LONG_AGO, verdict=RecheckVerdict.VERIFIED, verified_at=LONG_AGO)
    row.refresh_from_db()
    return row


@pytest.fixture
def evaluation() -> Evaluation:
    """An evaluation of long ago with records, log and a recorded episode, in whose place another one stands now."""
    environment = scored.environment()
    made = scored.submission(factories.user("olive"), environment, "balancer")
    old = scored.with_files(scored.evaluation(made, scored.scores_around(200, 20)))
    scored.recording(old, Recording.Choice.BEST, video=b"video", practice=old.submission.validations.get())
    scored.evaluation(made, scored.scores_around(210, 20))
    Recording.objects.update(ended_at=LONG_AGO, started_at=LONG_AGO)
    Evaluation.objects.update(
        ended_at=LONG_AGO, started_at=LONG_AGO, verified_at=LONG_AGO, verdict=RecheckVerdict.VERIFIED
    )
    old.refresh_from_db()
    return old


def counts(*, dry_run: bool = False) -> dict[str, int]:
    return {cleared.what: cleared.count for cleared in retention_apply(now=NOW, dry_run=dry_run) if cleared.count}


def everything_computed() -> dict[str, str]:
    """What results are made of, to the last byte."""
    models = [LedgerEntry, Participant, Rating]
    return {model.__name__: serializers.serialize("json", model._default_manager.order_by("pk")) for model in models}


def test_results_stay_to_the_last_byte_when_all_else_goes(duel: Duel) -> None:
    before = everything_computed()
    names = [str(file.name) for file in (duel.records, duel.player_1_log)]
    result = Duel.objects.values("outcome", "player_1_wins", "record_sha256", "verdict").get()

    assert counts() == {"job logs": 1, "players' logs": 1, "records": 1}

    assert everything_computed() == before
    assert Duel.objects.values("outcome", "player_1_wins", "record_sha256", "verdict").get() == result
    assert not any(default_storage.exists(name) for name in names)
    # Computed once more of what is left, it is the same.
    standings_refresh(duel.its_tournament)
    ratings_refresh(duel.its_tournament.environment)
    Rating.objects.update(updated_at=Rating.objects.earliest("updated_at").updated_at)
    assert [row.value for row in Rating.objects.all()]
    assert everything_computed()["Participant"] == before["Participant"]
    # And there is nothing more to do.
    assert counts() == {}


def test_a_dry_run_tells_the_same_and_touches_nothing(duel: Duel, evaluation: Evaluation) -> None:
    rows = [*Duel.objects.values(), *Evaluation.objects.values(), *Recording.objects.values()]
    told = counts(dry_run=True)
    assert [*Duel.objects.values(), *Evaluation.objects.values(), *Recording.objects.values()] == rows
    assert default_storage.exists(str(duel.records.name))
    assert counts() == told
    assert {"records", "recorded episodes", "players' logs"} <= set(told)


def test_pages_and_programs_say_that_it_is_not_kept_any_longer(duel: Duel) -> None:
    retention_run()
    client = Client()
    client.force_login(duel.player_1.agent.owner)
    for page in ("records.zip", "results.json.gz", "logs/player_1/", "matches/1/", "matches/1/frames.json"):
        answer = client.get(f"/duels/{duel.pk}/{page}")
        assert (page, answer.status_code) == (page, 410)
        assert b"no longer kept" in answer.content
    assert "no longer kept" in client.get(f"/duels/{duel.pk}/").content.decode()
    assert b"no longer kept" in client.get(f"/duels/{duel.pk}/logs/arena/").content
    for address in ("matches/", "matches/1/", "matches/1/replay/"):
        answer = client.get(f"/api/v1/duels/{duel.pk}/{address}")
        assert answer.status_code == 410
        assert "no longer kept" in answer.json()["detail"]
    assert "no longer kept" in client.get(f"/api/v1/jobs/duel/{duel.pk}/log/").json()["log"]


def test_recorded_episodes_of_the_past_go_and_say_so(evaluation: Evaluation) -> None:
    retention_run()
    client = Client()
    assert client.get(f"/evaluations/{evaluation.pk}/episodes/best/video").status_code == 410
    assert "no longer kept" in client.get(f"/evaluations/{evaluation.pk}/").content.decode()
    evaluation.refresh_from_db()
    # What the score is made of stays.
    assert len(evaluation.episodes) == 20


def test_what_stands_on_a_board_keeps_its_records_and_episodes(evaluation: Evaluation) -> None:
    Evaluation.objects.exclude(pk=evaluation.pk).update(is_current=False)
    Evaluation.objects.filter(pk=evaluation.pk).update(is_current=True)
    retention_run()
    evaluation.refresh_from_db()
    assert default_storage.exists(str(evaluation.records.name))
    assert default_storage.exists(str(Recording.objects.get().video.name))


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": RecheckVerdict.MISMATCH},
        {"verified_at": None, "verdict": ""},
        {"ended_at": NOW - timedelta(days=29)},
    ],
    ids=["it does not verify", "it was never checked", "it is recent"],
)
def test_records_that_may_have_to_be_looked_at_stay(duel: Duel, change: dict[str, Any]) -> None:
    Duel.objects.update(**change)
    retention_run()
    duel.refresh_from_db()
    assert default_storage.exists(str(duel.records.name))


def test_records_of_an_open_dispute_or_a_running_edition_stay(duel: Duel) -> None:
    alarm_raise(key=f"duel-{duel.pk}-somebody-objects", message="Look at it.")
    assert "records" not in counts()
    assert "job logs" not in counts()
    alarm_settle(key=f"duel-{duel.pk}-somebody-objects")
    duel.its_tournament.state, duel.its_tournament.ended_at = TournamentState.RUNNING, None
    duel.its_tournament.save()
    assert "records" not in counts()
    # A ladder never ends.
    duel.its_tournament.format = "ladder"
    duel.its_tournament.save()
    assert counts()["records"] == 1


def test_records_of_agents_that_play_alone_stay_while_their_tournament_runs(evaluation: Evaluation) -> None:
    cup = factories.planned(evaluation.environment, format="score")
    Evaluation.objects.filter(pk=evaluation.pk).update(tournament=cup)
    cup.state, cup.started_at = TournamentState.RUNNING, LONG_AGO
    cup.save()
    assert "records" not in counts()
    cup.state, cup.ended_at = TournamentState.FINISHED, LONG_AGO
    cup.save()
    assert counts()["records"] == 1


def test_records_that_no_sample_has_need_not_wait_for_it(evaluation: Evaluation, settings: Settings) -> None:
    settings.RECHECK_SAMPLE = 1.0
    Evaluation.objects.update(verified_at=None, verdict="")
    assert "records" not in counts()
    run = Run.objects.create(
        caller=evaluation.agent.owner, key="task-1", content_sha256="0" * 64, expires_at=NOW, player_1_name="balancer"
    )
    # A program's: it may have played a part of the list, which cannot be checked.
    Evaluation.objects.filter(pk=evaluation.pk).update(run=run)
    results_recheck()
    assert Evaluation.every.get(pk=evaluation.pk).verified_at is None
    assert counts()["records"] == 1


def test_where_nothing_is_verified_records_need_not_wait_for_it(duel: Duel, settings: Settings) -> None:
    settings.RECHECK_SAMPLE = 0
    Duel.objects.update(verified_at=None, verdict="")
    assert counts()["records"] == 1


def test_records_that_are_gone_raise_no_alarm_and_keep_their_verdict(duel: Duel, settings: Settings) -> None:
    retention_run()
    settings.RECHECK_SAMPLE = 1.0
    results_recheck()
    with pytest.raises(CommandError, match="no longer kept") as failed:
        call_command("recheck", "duel", str(duel.pk))
    assert failed.value.returncode == 2
    assert not Alarm.objects.exists()
    duel.refresh_from_db()
    assert duel.verdict == RecheckVerdict.VERIFIED


def test_nothing_goes_where_the_days_are_0(duel: Duel, evaluation: Evaluation, settings: Settings) -> None:
    settings.KEEP_DAYS = dict.fromkeys(NAMES, 0)
    assert counts() == {}


@pytest.fixture
def versions() -> list[Submission]:
    """Two valid versions of an agent, the newer one from long ago, too."""
    agent = factories.agent(factories.user("vera"), factories.environment(), "versions")
    rows = [played.ready(agent), played.ready(agent)]
    Submission.objects.update(created_at=LONG_AGO, image_digest="sha256:1")
    return rows


def images() -> list[str]:
    return list(Submission.objects.order_by("number").values_list("image", flat=True))


def test_only_images_of_versions_that_were_replaced_long_ago_go(versions: list[Submission]) -> None:
    Submission.objects.filter(pk=versions[1].pk).update(created_at=NOW - timedelta(days=29))
    retention_run()
    assert images() == ["player-versions", "player-versions"]
    Submission.objects.filter(pk=versions[1].pk).update(created_at=LONG_AGO)

    assert counts() == {"images": 1}

    assert images() == ["", "player-versions"]
    assert list(Submission.objects.valid()) == [versions[1]]
    agent = Agent.objects.get()
    page = Client().get(f"/environments/tic-tac-toe/agents/{agent.name}/").content.decode()
    assert page.count("The image of this version was removed on") == 1


def test_an_image_that_still_has_to_play_stays(versions: list[Submission]) -> None:
    old = versions[0]
    other = played.ready(factories.agent(factories.user("otto"), old.agent.environment, "other"))
    tournament = played.edition([old, other], old.agent.environment)
    assert counts() == {}
    Participant.objects.all().delete()
    duel = played.waiting_duel(tournament, old, other)
    assert counts() == {}
    duel.delete()
    assert counts() == {"images": 1}


def test_a_version_that_is_built_again_plays_again(versions: list[Submission]) -> None:
    retention_run()
    build = job_claim(
        kind=type(submission_rebuild(submission=versions[0])), job_id=versions[0].builds.latest("pk").pk, worker="w"
    )
    assert build is not None
    build_succeed(build=build, image="again", digest="sha256:2", warnings=[], log="")
    assert images()[0] == "again"
    assert Submission.objects.get(pk=versions[0].pk).image_removed_at is None


def test_an_archive_whose_deletion_failed_is_deleted_later() -> None:
    row = factories.submission(factories.agent(factories.user("ada"), factories.environment()))
    kept = factories.submission(row.agent)
    Submission.objects.filter(pk=row.pk).update(deleted_at=NOW - timedelta(hours=2))
    assert counts(dry_run=True) == {"archives of deleted versions": 1}
    assert counts() == {"archives of deleted versions": 1}
    assert not default_storage.exists(str(row.archive.name))
    assert default_storage.exists(str(kept.archive.name))
    assert counts() == {}


def test_a_store_that_is_away_is_asked_again_the_next_day(monkeypatch: pytest.MonkeyPatch) -> None:
    row = factories.submission(factories.agent(factories.user("ada"), factories.environment()))
    Submission.objects.update(deleted_at=NOW - timedelta(hours=2))

    class ClientError(Exception):
        """As of a store of objects: no OSError."""

    def fail(_: object, name: str) -> None:
        raise ClientError("no route to host")

    kind = type(storages["default"])
    with monkeypatch.context() as patch:
        patch.setattr(kind, "delete", fail)
        assert counts() == {}
        patch.setattr(kind, "exists", fail)
        assert counts() == {}
    assert counts() == {"archives of deleted versions": 1}
    assert not default_storage.exists(str(row.archive.name))


def test_a_file_that_the_store_does_not_delete_keeps_no_other(duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(storages["default"])
    delete, bad = kind.delete, str(duel.player_1_log.name)

    def delete_others(store: Storage, name: str) -> None:
        if name == bad:
            raise RuntimeError("The store is confused.")
        delete(store, name)

    monkeypatch.setattr(kind, "delete", delete_others)
    assert counts() == {"job logs": 1, "players' logs": 1, "records": 1}
    assert not default_storage.exists(str(duel.records.name))


def test_ended_sessions_and_old_messages_go() -> None:
    for expires in (NOW - timedelta(days=2), NOW + timedelta(days=2)):
        session = SessionStore()
        session.create()
        Session.objects.filter(pk=session.session_key).update(expire_date=expires)
    for number, stopped in enumerate((LONG_AGO, NOW)):
        Task.objects.create(
            id=str(number), name="n", func="f", started=stopped, stopped=stopped, success=True, args=(), kwargs={}
        )
    assert counts() == {"ended sessions": 1, "messages": 1}
    assert Session.objects.get().expire_date > NOW
    assert Task.objects.get().id == "1"


def test_the_command_says_what_goes_and_for_how_long_the_rest_is_kept(duel: Duel, settings: Settings) -> None:
    settings.KEEP_DAYS["recordings"] = 0
    output = io.StringIO()
    call_command("retention", "--dry-run", stdout=output)
    lines = output.getvalue().splitlines()
    assert "records, kept for 30 days: 1 would be deleted" in lines
    assert "recorded episodes, kept forever: 0 would be deleted" in lines
    call_command("retention", stdout=output)
    assert "records, kept for 30 days: 1 deleted" in output.getvalue()


def test_of_a_rollout_videos_and_logs_go_and_what_it_is_judged_by_stays() -> None:
    package = applications.package()
    names: Any = {
        field: default_storage.save(f"rollouts/1/{field}", ContentFile(b"x"))
        for field in ("record", "steps", "pages", "video", "trace", "har", "export", "changes", "world_log",
                      "model_log", "player_log")
    }  # fmt: skip
    ann = factories.user("ann")
    rollout = applications.finished(applications.batch(ann, package.environment, "count").rollouts.get(), **names)
    Rollout.objects.filter(pk=rollout.pk).update(ended_at=LONG_AGO, started_at=LONG_AGO, log="It began.")

    assert counts() == {"job logs": 1, "players' logs": 3, "recorded rollouts": 3}

    rollout.refresh_from_db()
    kept = {field for field in names if default_storage.exists(names[field])}
    assert kept == {"record", "steps", "har", "export", "changes"}
    assert "no longer kept" in rollout.log
    assert (rollout.outcome, rollout.verdicts.count()) == ("SOLVED", 1)
    assert can_be_judged(rollout)
    client = Client()
    client.force_login(applications.organiser())
    for name in ("video", "world_log"):
        assert client.get(f"/api/v1/rollouts/{rollout.public_id}/files/{name}/").status_code == 410
    assert "no longer kept" in client.get(f"/rollouts/{rollout.public_id}/").content.decode()


def test_every_stored_file_of_a_finished_job_has_a_rule() -> None:
    """A new file field needs a decision: for how long is it kept?"""
    found = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config("core").get_models()
        for field in model._meta.fields
        if isinstance(field, FileField)
    }
    kept_for_ever = {
        "Build.sbom", "Package.archive", "PackageBuild.fresh", "EnvironmentTrial.archive", "EnvironmentTrial.report",
        "Tournament.picture",
        *(f"Rollout.{name}" for name in ("record", "steps", "har", "export", "changes")),
    }  # fmt: skip
    with_their_days = {
        "Submission.archive",
        *(
            f"{kind}.{name}"
            for kind in ("Duel", "Validation", "Sitting")
            for name in ("records", "player_1_log", "player_2_log")
        ),
        *(f"Evaluation.{name}" for name in ("records", "player_log")),
        *(f"Rollout.{name}" for name in ("video", "trace", "pages", "world_log", "model_log", "player_log")),
        *(f"Recording.{name}" for name in ("video", "poster", "steps", "text", "replay_document", "replay_page")),
    }
    assert found == kept_for_ever | with_their_days
