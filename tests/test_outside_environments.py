"""Environments from outside on the site: from a folder to a duel that is shown, downloaded and checked."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from arena_kit.environment.availability import Trials
from arena_kit.environment.registry import get_spec
from arena_kit.environment.server.client import server_of
from arena_kit.tests.environment.outside import copied, outside
from core.jobs.lifecycle import job_announce, job_wake, jobs_end_delay
from core.jobs.selectors import attempts_of
from core.management.commands import sync_environments
from core.models import Alarm, Duel, Environment, JobFault, JobState, Tournament, TournamentState, Validation
from duel_runner.tests.commands import recheck
from tests.samples import FIRST, LAST, deliver_messages, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def folders(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of organisers with one environment: each is tried by programs of its own, at every sync."""
    folder = tmp_path / "own"
    copied(request.node.callspec.params["slug"].replace("-", "_"), folder)
    with outside(folder, monkeypatch, tmp_path / "trials"):
        yield folder


@pytest.fixture(autouse=True)
def only_those_of_organisers_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return whether those of the arena can be made here takes long to find out."""
    monkeypatch.setattr(sync_environments, "Trials", lambda _, folders: Trials([], folders))


def synced(slug: str) -> Environment:
    call_command("sync_environments", stdout=io.StringIO())
    row = Environment.objects.get(slug=slug)
    row.matches_per_duel, row.matches_per_validation = 4, 2
    row.save()
    return row


@pytest.mark.parametrize(
    "slug",
    ["classic-connect-four", *(pytest.param(slug, marks=pytest.mark.nightly) for slug in ("classic-nim", "nim"))],
)
def test_a_folder_from_outside_is_played_shown_and_checked(
    sandbox: str, folders: Path, client: Client, slug: str
) -> None:
    environment = synced(slug)
    upload(environment, "first", FIRST)
    upload(environment, "last", LAST)

    deliver_messages()

    assert set(Validation.objects.values_list("state", flat=True)) == {JobState.SUCCEEDED}
    assert Tournament.objects.get().state == TournamentState.FINISHED
    duel = Duel.objects.get()
    assert (duel.state, duel.player_1_errors, duel.player_2_errors) == (JobState.SUCCEEDED, 0, 0)
    assert client.get(f"/duels/{duel.pk}/").status_code == 200
    page = client.get(f"/duels/{duel.pk}/matches/1/")
    assert page.status_code == 200
    frames = client.get(f"/duels/{duel.pk}/matches/1/frames.json").json()["frames"]
    assert all(frame["svg"].startswith("<svg ") and frame["text"] for frame in frames)
    document: dict[str, Any] = json.loads(gzip.decompress(b"".join(client.get(f"/duels/{duel.pk}/results.json.gz"))))
    states = document["matches"][0]["states"]
    assert len(states) == len(frames)
    if slug == "nim":
        assert states[0] == {"stones": 10, "to_move": 0}
    elif slug == "classic-nim":
        assert states[0] == [10]
        assert frames[0]["html"].count('<li class="stone">') == 10
        assert "/static/environments/classic-nim/style.css" in page.content.decode()
    else:
        assert states[0] == {"rows": [[0] * 7] * 6, "player": 1}
        assert "onclick" not in frames[0]["html"]
        assert "<script" not in frames[0]["html"]
        assert "/static/environments/classic-connect-four/board.css" in page.content.decode()
    code, said = recheck(duel)
    assert code == 0, said


@pytest.mark.parametrize("slug", ["nim"])
def test_a_server_that_dies_in_a_duel_blames_no_player_and_the_duel_is_played_again(
    folders: Path, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slug: str
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    settings.JOB_DELAY_SECONDS = 0
    environment = synced(slug)
    upload(environment, "first", FIRST)
    killed: list[int] = []

    from arena_kit.referee import match

    start = match.Match.start

    def killing(self: match.Match) -> Any:
        questions = start(self)
        if not killed:
            killed.append(server_of(get_spec("nim")).pid)
            os.kill(killed[0], signal.SIGKILL)
        return questions

    monkeypatch.setattr(match.Match, "start", killing)
    deliver_messages()
    job_wake(job=Validation.objects.get())  # as the reaper does after its delay
    deliver_messages()

    validation = Validation.objects.get()
    (failed,) = attempts_of(validation)
    assert failed.code == "environment_failed"
    assert "its server has ended, with the signal 9" in failed.error
    assert (validation.state, validation.fault, validation.attempt) == (JobState.SUCCEEDED, JobFault.NONE, 2)


@pytest.mark.parametrize("slug", ["nim"])
@pytest.mark.nightly
def test_a_valid_action_that_crashes_its_environment_saves_no_loser_and_the_edition_goes_on_once_it_is_mended(
    folders: Path, settings: Any, tmp_path: Path, slug: str
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    settings.JOB_DELAY_SECONDS = 0
    settings.JOB_MAX_ATTEMPTS = 3
    environment = synced(slug)
    code = folders / "nim" / "environment.py"
    good = code.read_text()
    # No agent does this against itself, so both are validated.
    crash = (
        "if (self._stones, action) == (9, 2):\n            import os; os.abort()\n        self._stones -= action + 1"
    )
    code.write_text(good.replace("self._stones -= action + 1", crash))
    upload(environment, "first", FIRST)
    upload(environment, "last", LAST)

    for _ in range(settings.JOB_MAX_ATTEMPTS + 2):
        deliver_messages()
        jobs_end_delay()
        for duel in Duel.objects.filter(not_before=None):
            job_announce(job=duel)

    duel = Duel.objects.get()
    assert (duel.state, duel.error_code) == (JobState.QUEUED, "environment_on_hold")
    assert Tournament.objects.get().state == TournamentState.RUNNING
    assert "its server has ended, with the signal 6" in Alarm.objects.get(key="environment-nim-fails").message

    code.write_text(good)
    synced(slug)
    deliver_messages()

    duel.refresh_from_db()
    assert (duel.state, duel.player_1_errors, duel.player_2_errors) == (JobState.SUCCEEDED, 0, 0)
    assert Tournament.objects.get().state == TournamentState.FINISHED
    assert not Alarm.objects.filter(key="environment-nim-fails", settled_at=None).exists()


@pytest.mark.parametrize("slug", ["nim"])
def test_new_rules_are_played_without_a_restart_and_old_matches_are_drawn_and_checked(
    folders: Path, settings: Any, tmp_path: Path, client: Client, slug: str
) -> None:
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR, settings.ENVIRONMENTS_DIR = "process", True, tmp_path, folders
    environment = synced(slug)
    upload(environment, "first", FIRST)
    upload(environment, "last", LAST)
    deliver_messages()
    old = Duel.objects.get()
    info, code = folders / slug / "info.yml", folders / slug / "environment.py"
    info.write_text(info.read_text().replace("version: 1", "version: 2").replace("max_steps: 10", "max_steps: 12"))
    code.write_text(code.read_text().replace("_stones = 10", "_stones = 12"))
    said = io.StringIO()

    call_command("sync_environments", stdout=said)
    deliver_messages()

    changed = "the rules have changed: 2 versions are validated again, nim-v1 is kept for its 4 matches"
    assert any(line.startswith(f"nim-v2: {changed}") for line in said.getvalue().splitlines()), said.getvalue()
    again = Validation.objects.filter(environment_version="nim-v2")
    assert [(row.state, row.attempt) for row in again] == [(JobState.SUCCEEDED, 1)] * 2
    new = Duel.objects.exclude(pk=old.pk).get()
    assert (new.state, new.environment_version) == (JobState.SUCCEEDED, "nim-v2")
    for duel, stones in ((old, 10), (new, 12)):
        assert client.get(f"/duels/{duel.pk}/matches/1/").status_code == 200
        frames = client.get(f"/duels/{duel.pk}/matches/1/frames.json").json()["frames"]
        assert frames[0]["text"] == f"{stones} stones are left."
        verdict, report = recheck(duel)
        assert verdict == 0, report
