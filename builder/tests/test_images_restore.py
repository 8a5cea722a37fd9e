"""Versions whose images are missing on the host, as after a restore on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from django.utils import timezone
from django_q.models import Schedule

from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.folder_recipe import FolderRecipe
from builder import tasks
from core.jobs.messages import IMAGES_CHECK_TASK
from core.jobs.registry import TASKS
from core.models import Build, Duel, JobState, Submission, TournamentState
from core.submissions.existing import submission_delete, submission_rebuild
from core.submissions.images import CHECK, duels_delay_rebuilt, images_check_start
from core.tests import factories
from core.tests.factories import moved

pytestmark = pytest.mark.django_db


class Host:
    """A recipe that knows which images exist."""

    def __init__(self) -> None:
        self.there = {"kept"}

    def missing(self, launched: Mapping[str, str]) -> set[str]:
        return set(launched) - self.there


class NoHost:
    def missing(self, launched: Mapping[str, str]) -> set[str]:
        raise BuilderUnavailable("No engine.", code="engine_unavailable")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr(tasks, "recipe", lambda: made)
    images_check_start()
    return made


def look() -> None:
    """Run the task as the schedule does."""
    TASKS[IMAGES_CHECK_TASK](0)


def ready(name: str, *images: str) -> list[Submission]:
    agent = factories.agent(factories.user(name), factories.environment(), name)
    rows = [factories.ready(agent) for _ in images]
    for row, image in zip(rows, images, strict=True):
        row.image = image
        row.save()
    return rows


def built_again() -> set[int]:
    return set(Build.objects.filter(state=JobState.QUEUED).values_list("submission", flat=True))


def test_the_newest_version_of_every_agent_and_all_that_have_to_play_are_built_again(host: Host) -> None:
    old, older, newest = ready("ann", "lost-1", "lost-2", "lost-3")
    (kept,) = ready("bob", "kept")
    (banned,) = ready("cat", "lost-4")
    banned.agent.is_disabled = True
    banned.agent.save()
    edition = factories.tournament([old, kept])
    moved(Duel.objects.filter(tournament=edition), JobState.QUEUED)
    Duel.objects.update(attempt=3)

    look()

    assert built_again() == {old.pk, newest.pk, banned.pk}
    images = dict(Submission.objects.values_list("pk", "image"))
    assert {pk for pk, image in images.items() if image} == {kept.pk}
    # The other versions have lost their images too.
    assert set(Submission.objects.exclude(image_removed_at=None)) == {older}
    duel = Duel.objects.get()
    assert duel.not_before is not None
    assert duel.not_before > timezone.now()
    assert (duel.attempt, duel.error_code) == (0, "image_missing")

    assert not Schedule.objects.filter(name=CHECK).exists()
    # A second message may be on its way: nothing is done twice.
    look()
    assert Build.objects.filter(state=JobState.QUEUED).count() == 3


def test_a_host_that_has_all_images_changes_nothing_and_looks_once(host: Host) -> None:
    ready("ann", "kept", "kept")
    look()
    assert not built_again()
    assert not Submission.objects.exclude(image_removed_at=None).exists()
    assert not Schedule.objects.filter(name=CHECK).exists()


def test_what_is_deleted_while_the_host_is_asked_is_not_built_again(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*ready("ann", "lost"), *ready("bob", "lost-2")]
    factories.tournament(rows, state=TournamentState.RUNNING)

    def missing(launched: Mapping[str, str]) -> set[str]:
        submission_delete(submission=rows[0])
        return set(launched)

    monkeypatch.setattr(host, "missing", missing)
    look()
    assert built_again() == {rows[1].pk}


def test_without_an_engine_nothing_is_taken_for_missing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    ready("ann", "lost")
    monkeypatch.setattr(tasks, "recipe", NoHost)
    look()
    assert not built_again()
    assert Schedule.objects.filter(name=CHECK).exists()


def test_folders_that_are_not_there_are_missing(tmp_path: Path) -> None:
    (tmp_path / "s1-b1-0a").mkdir()
    names = {f"folder:{tmp_path}/s1-b1-0a", f"folder:{tmp_path}/s2-b2-0b", "sha256:0"}
    assert FolderRecipe(folder=tmp_path).missing(dict.fromkeys(names, "")) == names - {f"folder:{tmp_path}/s1-b1-0a"}


def test_of_two_that_look_at_once_one_builds_drawn_versions_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [*ready("ann", ""), *ready("bob", "")]
    Submission.objects.update(image_removed_at=timezone.now())
    moved(Duel.objects.filter(tournament=factories.tournament(drawn)), JobState.QUEUED)

    def with_another(*, submission: Submission) -> None:
        for row in drawn:
            submission_rebuild(submission=row)

    monkeypatch.setattr("core.submissions.images.submission_rebuild", with_another)
    duels_delay_rebuilt()

    again = Build.objects.exclude(state=JobState.SUCCEEDED)
    assert sorted(again.values_list("submission", "state")) == [(row.pk, JobState.QUEUED) for row in drawn]
