"""Environments that submissions add, and what becomes of them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from arena_kit.environment.availability import Trials
from arena_kit.environment.outside.describing import NotDescribed
from arena_kit.environment.registry import get_spec
from core.environments import additions
from core.environments.additions import (
    addable_ids,
    additions_expire,
    environment_add,
    environment_candidate,
    environment_remove,
    may_be_added,
)
from core.environments.services import environment_sync
from core.errors import QuotaExceeded, Refused
from core.management.commands import sync_environments
from core.models import Environment, SeedList, Submission
from core.tests import factories
from core.tests.concurrency import at_once

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=40)
FILE = """\
slug: {slug}
name: {env_id}
gymnasium: {{id: {env_id}}}
observation: {{shape: [4], dtype: float32, wire: float32}}
action_count: 2
max_steps: {steps}
description: A pole on a cart.
"""


@pytest.fixture(autouse=True)
def open_to_all(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Open the arena; return the ids that are described, each without a process of its own."""
    cache.clear()
    settings.OPEN_ENVIRONMENTS = "all"
    tried: list[str] = []

    def describe(env_id: str, slug: str) -> str:
        tried.append(env_id)
        if "Bad" in env_id:
            raise NotDescribed(f"Gymnasium cannot make {env_id} on this arena.", detail="it raised")
        return FILE.format(slug=slug, env_id=env_id, steps=200)

    monkeypatch.setattr(additions, "described", describe)
    return tried


@pytest.fixture
def only_added_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return whether those of the arena can be made here takes long to find out."""
    monkeypatch.setattr(
        sync_environments, "Trials", lambda slugs, folders: Trials([s for s in slugs if s.startswith("gym-")], folders)
    )


def synced() -> str:
    output = StringIO()
    call_command("sync_environments", stdout=output)
    return output.getvalue()


def test_an_added_environment_is_a_row_with_its_file_and_its_seeds() -> None:
    row = environment_add(env_id="CartPole-v0")
    assert (row.slug, row.env_id, row.name, row.seats) == ("gym-cart-pole-0", "CartPole-v0", "CartPole-v0", 1)
    assert (row.is_added, row.is_available, row.takes_scripts, row.takes_players) == (True, True, True, True)
    assert SeedList.objects.filter(environment=row).count() == 2
    assert get_spec(row.spec_id).public_id == "CartPole-v0"


def test_for_scripts_alone_it_takes_no_players(settings: Settings) -> None:
    settings.OPEN_ENVIRONMENTS = "scripts"
    row = environment_add(env_id="CartPole-v0")
    assert (row.takes_scripts, row.takes_players) == (True, False)
    assert environment_candidate(env_id="Other-v0").takes_players is False


def test_it_is_described_once(open_to_all: list[str]) -> None:
    assert environment_add(env_id="CartPole-v0") == environment_add(env_id="CartPole-v0")
    assert open_to_all == ["CartPole-v0"]


def test_ids_with_the_same_words_are_two_environments() -> None:
    rows = [environment_add(env_id=env_id) for env_id in ("Foo/Bar-v0", "FooBar-v0")]
    assert rows[0].slug == "gym-foo-bar-0"
    assert rows[1].slug.startswith("gym-foo-bar-0-")
    assert [get_spec(row.slug).public_id for row in rows] == ["Foo/Bar-v0", "FooBar-v0"]


def test_what_cannot_be_made_leaves_no_row_and_is_not_tried_again_soon(open_to_all: list[str]) -> None:
    with pytest.raises(Refused, match="cannot make Bad-v0"):
        environment_add(env_id="Bad-v0")
    with pytest.raises(Refused, match="cannot make Bad-v0"):
        environment_candidate(env_id="Bad-v0")
    assert open_to_all == ["Bad-v0"]
    assert not Environment.objects.exists()


def test_there_is_room_for_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "MOST_ADDED", 1)
    row = environment_add(env_id="CartPole-v0")
    for action in (environment_candidate, environment_add):
        with pytest.raises(Refused, match="accepts no more"):
            action(env_id="Other-v0")
    environment_remove(environment=row)
    assert environment_add(env_id="Other-v0").is_added


def test_failures_do_not_fill_all_places_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "MOST_ADDED", 1)
    failed = factories.submission(factories.agent(factories.user("alice"), environment_add(env_id="CartPole-v0")))
    SeedList.objects.update(created_at=LONG_AGO)
    with pytest.raises(Refused, match="accepts no more"):
        environment_add(env_id="Other-v0")
    Submission.objects.update(created_at=LONG_AGO)
    assert environment_add(env_id="Other-v0").is_added
    # One with a score keeps its place, however old it is.
    SeedList.objects.update(created_at=LONG_AGO)
    factories.evaluation(failed)
    with pytest.raises(Refused, match="accepts no more"):
        environment_add(env_id="Third-v0")


def test_what_no_agent_belongs_to_goes_after_its_time() -> None:
    empty, used, new = (environment_add(env_id=env_id) for env_id in ("CartPole-v0", "Other-v0", "Third-v0"))
    own = factories.environment("cart-pole")
    factories.agent(factories.user("alice"), used)
    SeedList.objects.exclude(environment=new).update(created_at=LONG_AGO)
    before = timezone.now() - timedelta(days=additions.UNUSED_DAYS)
    assert additions_expire(before, timezone.now(), True) == 1
    assert additions_expire(before, timezone.now(), False) == 1
    assert set(Environment.objects.values_list("pk", flat=True)) == {used.pk, new.pk, own.pk}
    assert not SeedList.objects.filter(environment=empty.pk).exists()


def test_another_trial_that_takes_long_is_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additions, "PATIENCE_SECONDS", 0.0)
    cache.set(additions.TRIAL_LOCK, True, 60)
    with pytest.raises(QuotaExceeded) as refused:
        environment_add(env_id="CartPole-v0")
    assert (refused.value.code, refused.value.retry_after_seconds) == ("busy", 60)


def test_only_ids_that_no_row_has_may_be_added(settings: Settings) -> None:
    factories.environment("cart-pole")
    assert (may_be_added("CartPole-v1"), may_be_added("CartPole-v0")) == (False, True)
    assert "CartPole-v0" in addable_ids()
    assert "CartPole-v1" not in addable_ids()
    settings.OPEN_ENVIRONMENTS = "false"
    assert (may_be_added("CartPole-v0"), addable_ids()) == (False, [])


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_first_submissions_at_once_make_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every process of a site may have a cache of its own.
    monkeypatch.setattr(cache, "add", lambda *_: True)
    made = at_once(*[lambda: environment_add(env_id="CartPole-v0").pk] * 4)
    assert len(set(made)) == 1
    assert Environment.objects.get().pk == made[0]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_ids_with_the_same_words_never_share_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "add", lambda *_: True)

    def add(env_id: str) -> str:
        try:
            return environment_add(env_id=env_id).env_id
        except QuotaExceeded as busy:
            return busy.code

    ids = ["Foo/Bar-v0", "FooBar-v0"]
    found = at_once(*[partial(add, env_id) for env_id in ids])
    for row in Environment.objects.all():
        assert get_spec(row.slug).public_id == row.env_id
    assert set(found) <= {*ids, "busy"}
    assert Environment.objects.count() == len([one for one in found if one != "busy"])


@pytest.mark.usefixtures("only_added_are_tried")
@pytest.mark.slow
def test_a_sync_keeps_it_and_tries_it_again(tmp_path: Path, settings: Settings) -> None:
    row = environment_add(env_id="CartPole-v0")
    settings.OPEN_ENVIRONMENTS = "false"
    assert "gym-cart-pole-0-v1: added by a submission, up to date" in synced().splitlines()
    row.refresh_from_db()
    assert (row.is_active, row.is_available, row.is_added) == (True, True, True)


@pytest.mark.usefixtures("only_added_are_tried")
@pytest.mark.nightly
def test_a_sync_says_which_no_longer_fit_the_gymnasium_that_is_installed() -> None:
    environment_add(env_id="Gone-v0")
    row = environment_add(env_id="CartPole-v0")
    Environment.objects.filter(pk=row.pk).update(added_file=row.added_file.replace("[4]", "[5]"))
    environment_add(env_id="Other-v0")
    Environment.objects.filter(env_id="Other-v0").update(added_file="slug: [")
    synced()
    because = dict(Environment.objects.exclude(added_file="").values_list("env_id", "unavailable_because"))
    assert "cannot make Gone-v0" in because["Gone-v0"]
    assert "does not fit Gymnasium's CartPole-v0" in because["CartPole-v0"]
    assert "cannot read the file" in because["Other-v0"]
    assert Environment.objects.exclude(added_file="").filter(is_active=True).count() == 3
    Environment.objects.filter(pk=row.pk).update(added_file=row.added_file)
    synced()
    assert Environment.objects.get(pk=row.pk).is_available


def test_an_organiser_adopts_it_by_its_file() -> None:
    row = environment_add(env_id="CartPole-v0")
    environment_sync(spec=get_spec(row.slug))
    row.refresh_from_db()
    assert not row.is_added


def test_one_with_a_tournament_stays_although_no_agent_was_ever_in_it() -> None:
    row = environment_add(env_id="CartPole-v0")
    factories.planned(row, format="score")
    SeedList.objects.update(created_at=LONG_AGO)
    with pytest.raises(Refused, match="or tournaments"):
        environment_remove(environment=row)
    before = timezone.now() - timedelta(days=additions.UNUSED_DAYS)
    for dry_run in (True, False):
        assert additions_expire(before, timezone.now(), dry_run) == 0
    assert Environment.objects.filter(pk=row.pk).exists()


def test_a_removed_one_is_gone_with_its_seeds_and_one_with_agents_stays() -> None:
    row = environment_add(env_id="CartPole-v0")
    agent = factories.agent(factories.user("alice"), row)
    with pytest.raises(Refused, match="It has agents"):
        environment_remove(environment=row)
    agent.delete()
    environment_remove(environment=row)
    assert not Environment.objects.exists()
    assert not SeedList.objects.exists()


def test_one_that_a_file_describes_is_not_removed() -> None:
    with pytest.raises(Refused, match="described by a file"):
        environment_remove(environment=factories.environment("cart-pole"))
