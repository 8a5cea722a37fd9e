from __future__ import annotations

import io
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains

from arena_kit.datasets.lines import read_dataset
from core.models import Agent, Audience, Tournament
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
