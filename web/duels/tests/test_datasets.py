from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains

from arena_kit.datasets.lines import read_dataset
from core.models import Agent, Audience, Duel, Tournament
from core.submissions.descriptions import agent_share
from core.tests.factories import Cast
from web.conftest import As
from web.tests.arena import MATCH_COUNT, Stage

pytestmark = pytest.mark.django_db


def fetched(client: Client, stage: Stage) -> list[dict[str, Any]]:
    response: Any = client.get(f"/api/v1/environments/{stage.environment.slug}/matches.jsonl")
    assert response.status_code == 200
    return list(read_dataset(io.BytesIO(b"".join(response.streaming_content))))


def test_matches_are_a_data_set_only_with_the_consent_of_both_owners(client: Client, stage: Stage) -> None:
    Agent.objects.update(is_public=False, shares_moves=None)
    assert len(fetched(client, stage)) == 1

    for player in (stage.anna, stage.berta):
        agent_share(agent=player.agent, shares_moves=True)
    header, *matches = fetched(client, stage)

    assert header["environment"] == stage.duel.environment_version
    assert len(matches) == MATCH_COUNT
    assert matches[0]["players"] == [str(stage.anna.public_id), str(stage.berta.public_id)]
    assert not any("error" in match for match in matches)

    Agent.objects.filter(pk=stage.anna.agent_id).update(is_public=True, shares_moves=False)
    assert len(fetched(client, stage)) == 1


def test_matches_without_openings_and_by_earlier_rules_are_data_sets_of_their_own(client: Client, stage: Stage) -> None:
    Agent.objects.update(shares_moves=True)
    address = f"/api/v1/environments/{stage.environment.slug}/matches.jsonl?rules="
    for rules in (f"{stage.environment.spec_id}-bare", f"{stage.environment.slug}-v7"):
        Duel.objects.update(environment_version=rules)
        response: Any = client.get(address + rules)
        header, *_ = read_dataset(io.BytesIO(b"".join(response.streaming_content)))
        assert header["environment"] == rules
        assert f"{rules}-matches.jsonl" in response["Content-Disposition"]
    for rules in ("chess-v1", f"{stage.environment.slug}-v0", stage.environment.slug):
        refused = client.get(address + rules)
        assert refused.status_code == 404
        assert f"its newest are {stage.environment.spec_id}" in refused.json()["detail"]
    assert client.get(address + "A%00").status_code == 400


def test_results_that_are_held_back_are_in_no_data_set(client: Client, stage: Stage) -> None:
    Agent.objects.update(shares_moves=True)
    Tournament.objects.update(results=Audience.PARTICIPANTS)

    assert len(fetched(client, stage)) == 1


def test_owners_say_on_the_page_of_an_agent_whether_its_matches_are_shared(stage: Stage, cast: Cast, visit: As) -> None:
    agent = stage.anna.agent
    page = f"/environments/{stage.environment.slug}/agents/{agent.name}/"
    owner = visit(agent.owner)
    assertContains(owner.get(page), "public data sets")

    owner.post(f"{page}description/", {"description": "Plays well.", "asks_for_moves": "1", "shares_moves": "on"})

    agent.refresh_from_db()
    assert (agent.shares_moves, agent.is_in_datasets) == (True, True)
