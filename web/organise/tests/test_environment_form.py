"""The form of an environment's settings, and what submissions added."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from core.evaluations.selectors import practice_list, ranking_list
from core.models import (
    Environment,
)
from core.tests import factories
from core.tests.organising import act

pytestmark = pytest.mark.django_db


def test_an_environment_keeps_its_rules_and_an_even_number_of_matches(
    organiser: Client, environment: Environment
) -> None:
    fields = ("matches_per_duel", "matches_per_validation", "parallel_matches", "cpu_count", "memory_limit_bytes",
              "gpu_count", "move_seconds", "bank_seconds", "start_seconds", "duel_seconds", "validation_seconds",
              "play", "active_per_owner", "all_pairs_up_to",
              "test_elo0", "test_elo1", "test_alpha", "test_beta", "test_cap")  # fmt: skip
    form = {name: getattr(environment, name) for name in fields} | {"is_active": "on"}
    address = reverse("web:organise_change_environment", args=[environment.pk])

    assertContains(organiser.post(address, {**form, "matches_per_duel": 7}), "Enter an even number", status_code=422)
    assert organiser.post(address, {**form, "matches_per_duel": 8, "slug": "chess"}).status_code == 302
    environment.refresh_from_db()
    assert (environment.matches_per_duel, environment.slug) == (8, "tic-tac-toe")
    # What the database would refuse.
    assertContains(organiser.post(address, {**form, "cpu_count": 0}), "Enter a number above 0.", status_code=422)
    assertContains(
        organiser.post(address, {**form, "bank_seconds": -1}), "Enter 0 or a number above 0.", status_code=422
    )
    assertContains(
        organiser.post(address, {**form, "test_elo1": -1}), "the upper bound must exceed the lower one", status_code=422
    )
    assertContains(
        organiser.post(address, {**form, "test_alpha": 0.5}), "Enter a number above 0 and below 0.5.", status_code=422
    )


LIMITS = ("parallel_matches", "cpu_count", "memory_limit_bytes", "gpu_count", "move_seconds", "bank_seconds",
          "start_seconds", "duel_seconds", "validation_seconds")  # fmt: skip


def test_an_environment_with_one_seat_offers_what_evaluations_need(organiser: Client) -> None:
    task = factories.task(episodes=4)
    address = reverse("web:organise_change_environment", args=[task.pk])
    form = {name: getattr(task, name) for name in LIMITS} | {
        "is_active": "on", "matches_per_validation": 3, "episodes_per_evaluation": 7, "takes_scripts": "on",
    }  # fmt: skip

    page = organiser.get(address)
    assertContains(page, 'name="episodes_per_evaluation"')
    assertContains(page, 'name="takes_scripts"')
    assertNotContains(page, 'name="matches_per_duel"')
    assertContains(organiser.post(address, {**form, "episodes_per_evaluation": 1}), "Enter at least 2", status_code=422)
    assert organiser.post(address, form).status_code == 302

    task.refresh_from_db()
    assert (task.episodes_per_evaluation, task.takes_scripts, task.matches_per_duel) == (7, True, 0)
    # The public list follows at once, the one that ranks stays.
    practice, ranking = practice_list(task), ranking_list(task)
    assert practice is not None
    assert ranking is not None
    assert (practice.seeds, len(ranking.seeds)) == ([1, 2, 3], 4)


def test_an_environment_with_two_seats_offers_nothing_of_evaluations(
    organiser: Client, environment: Environment
) -> None:
    page = organiser.get(reverse("web:organise_change_environment", args=[environment.pk]))

    assertContains(page, 'name="matches_per_duel"')
    for name in ("episodes_per_evaluation", "takes_scripts"):
        assertNotContains(page, f'name="{name}"')


def test_what_submissions_added_is_shown_and_removed_if_no_agent_belongs_to_it(organiser: Client) -> None:
    task, other = factories.task(), factories.task("acrobot")
    Environment.objects.update(added_file="slug: it")
    factories.agent(factories.user("dora"), other)
    assertContains(organiser.get(reverse("web:organise_environments")), "added by a submission")
    assertContains(organiser.get(reverse("web:organise_change_environment", args=[task.pk])), 'name="takes_players"')
    address = reverse("web:organise_actions", args=["environment", "remove_added"])
    assertContains(organiser.get(address, {"row": [task.pk]}), "the next submission that names one adds it again")
    assert "It has agents" in " ".join(act(organiser, "remove_added", task, other))
    assert list(Environment.objects.all()) == [other]
