"""A person plays an agent in the browser: over HTTP, with one step of a worker at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from arena_kit.environment.registry import get_spec
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.sandbox.base import Launch, Slot
from arena_kit.sandbox.warm import WarmPlayers
from core.duels.challenge_selectors import challenge_list
from core.duels.selectors import match_get, records_open
from core.jobs.lifecycle import job_await_person, jobs_end_delay
from core.jobs.worker import Performed, step
from core.models import Agent, Duel, JobState, LedgerEntry, Rating, Sitting, SittingMove, Submission, User
from core.operations.queue_status import queue_statuses
from core.sittings import services
from core.sittings.services import opponents_set
from core.tests import factories
from duel_runner import sittings
from duel_runner.recheck.duels import duel_recheck
from tests.samples import FIRST, LAST, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CLUELESS = FIRST.replace(
    "return valid_actions[0]",
    "if list(state[:9]).count(0) > 7:\n            raise RuntimeError('no idea')\n        return valid_actions[0]",
    1,
)
"""Knows no empty board, which no validation shows it: those begin with openings."""


@pytest.fixture
def agent(sandbox: str) -> Iterator[Submission]:
    """A valid agent of Tic-tac-toe that takes the first free cell."""
    yield ready(FIRST)
    sittings.boards_of_this_worker().close()


def ready(source: str) -> Submission:
    made = upload(tic_tac_toe("tic-tac-toe-v2"), "first", source)
    deliver_messages()
    opponents_set(agent=made.agent, opponents="EVERYONE")
    return made


def sit_down(client: Client, seat: str = "first") -> str:
    answer = client.post("/environments/tic-tac-toe/agents/first/sit/", {"seat": seat})
    assert answer.status_code == 302, answer.content
    return str(answer["Location"])


def play(client: Client, page: str, action: int) -> None:
    """Choose an action as the page's form does, without JavaScript."""
    found = re.search(r'name="step" value="(\d+)"', client.get(page).content.decode())
    assert found is not None
    answer = client.post(f"{page}move/", {"step": found[1], "action": action})
    assert answer["Location"] == page


def test_a_visitor_plays_a_whole_match_and_shares_it(agent: Submission, client: Client) -> None:
    page = sit_down(client)
    assertContains(client.get(page), "Your turn.")
    assert step("sitting") is Performed.DONE
    # The worker has left the board and comes back when the person moves.
    row = Sitting.objects.get()
    assert (row.state, row.error_code) == (JobState.QUEUED, "persons_turn")
    assert step("sitting") is Performed.NOTHING

    for turn, action in enumerate((2, 4, 6)):
        play(client, page, action)
        assert SittingMove.objects.filter(seat=0).count() == turn + 1
        assert step("sitting") is Performed.DONE

    row.refresh_from_db()
    assert (row.state, row.outcome, row.matches_done) == (JobState.SUCCEEDED, "PLAYER_1", 1)
    assert not SittingMove.objects.exists()
    assert not LedgerEntry.objects.exists()
    stranger = Client()
    assertContains(stranger.get(page), "A visitor wins")
    # The person reads of themselves as during the match.
    assertContains(client.get(page), "You win")
    assert "You played" in client.get(f"{page}frames.json").json()["frames"][1]["caption"]
    assert len(stranger.get(f"{page}frames.json").json()["frames"]) == 6
    assert stranger.get(f"{page}replay.json").json()


def test_only_the_person_moves_and_only_what_the_rules_allow(agent: Submission, client: Client) -> None:
    page = sit_down(client, "second")
    # The agent has not moved yet.
    assertContains(client.get(page), "first v1 is to move.")
    assertContains(client.post(f"{page}move/", {"step": 0, "action": 4}, follow=True), "it is not your turn")
    assert step("sitting") is Performed.DONE
    stranger = Client()
    watched = stranger.get(page)
    assertContains(watched, "You are watching.")
    assertNotContains(watched, 'name="action"')
    assert stranger.post(f"{page}move/", {"step": 1, "action": 4}).status_code == 403
    assert stranger.post(f"{page}resign/").status_code == 403
    assertContains(client.post(f"{page}move/", {"step": 1, "action": 0}, follow=True), "not possible here")
    # A second click on the same state changes nothing.
    play(client, page, 4)
    assertContains(client.post(f"{page}move/", {"step": 1, "action": 5}, follow=True), "made already")
    assert [move.action for move in SittingMove.objects.all()] == [0, 4]
    # htmx gets the board alone.
    part = client.get(page, headers={"HX-Request": "true", "HX-Target": "board"})
    assertNotContains(part, "<html")
    client.post(f"{page}resign/")
    assert step("sitting") is Performed.DONE
    assertContains(client.get(page), "The person resigned.")


def test_an_agent_at_fault_forfeits_and_the_person_is_told_why(sandbox: str, client: Client) -> None:
    ready(CLUELESS)
    page = sit_down(client, "second")
    assert step("sitting") is Performed.DONE
    assertContains(client.get(page), "The player raised an exception: RuntimeError: no idea")
    # The traceback shows source code, which is for the owner.
    assertNotContains(client.get(page), "in start")
    assert Sitting.objects.get().outcome == "PLAYER_1"


def test_a_person_who_stays_away_for_half_an_hour_has_lost(agent: Submission, client: Client) -> None:
    page = sit_down(client)
    assert step("sitting") is Performed.DONE
    long_ago = timezone.now() - timedelta(minutes=31)
    Sitting.objects.update(persons_turn_at=long_ago, not_before=long_ago)
    assert jobs_end_delay() == 1
    assert step("sitting") is Performed.DONE
    assertContains(client.get(page), "The person left the board.")


def test_owners_close_their_agents_and_visitors_play_only_what_is_open_to_everyone(
    agent: Submission, client: Client
) -> None:
    member = Client()
    member.force_login(User.objects.create(username="ann", email="ann@arena.example"))
    here = "/environments/tic-tac-toe/agents/first/"
    owner = Client()
    owner.force_login(agent.agent.owner)
    assert member.post(f"{here}opponents/", {"opponents": "NOBODY"}).status_code == 403

    owner.post(f"{here}opponents/", {"opponents": "MEMBERS"})
    assertContains(client.post(f"{here}sit/"), "Log in to play against first", status_code=422)
    assert member.post(f"{here}sit/").status_code == 302
    owner.post(f"{here}opponents/", {"opponents": "NOBODY"})
    assertContains(member.post(f"{here}sit/"), "does not let people play", status_code=422)
    assertContains(member.get("/play/"), "No agent is open to you here.")
    # Its owner may try it, twice at once.
    assert [owner.post(f"{here}sit/").status_code for _ in range(3)] == [302, 302, 422]


def test_a_move_needs_its_worker_for_the_move_and_the_player_waits_at_the_board(
    agent: Submission, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Launch] = []
    start = WarmPlayers.slot

    def slot(players: WarmPlayers, launch: Launch) -> Slot:
        starts.append(launch)
        return start(players, launch)

    monkeypatch.setattr(WarmPlayers, "slot", slot)
    page = sit_down(client)
    assert step("sitting") is Performed.DONE
    play(client, page, 2)
    assert step("sitting") is Performed.DONE
    assert len(starts) == 1
    # A board that waits for its person is no waiting job.
    assert [(row.waiting, row.delayed) for row in queue_statuses() if row.name == "sitting"] == [(0, 0)]
    # The player is lost: another one is asked everything again.
    sittings.boards_of_this_worker().close()
    for action in (4, 6):
        play(client, page, action)
        assert step("sitting") is Performed.DONE
    assert (len(starts), Sitting.objects.get().outcome) == (2, "PLAYER_1")


def test_a_move_that_comes_while_the_worker_leaves_the_board_is_not_lost(
    agent: Submission, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = sit_down(client)
    leave = job_await_person

    def moved_meanwhile(**named: object) -> None:
        monkeypatch.setattr(services, "job_await_person", leave)
        play(client, page, 2)
        leave(**named)  # type: ignore[arg-type]

    monkeypatch.setattr(services, "job_await_person", moved_meanwhile)
    assert [step("sitting") for _ in range(3)] == [Performed.DONE, Performed.DONE, Performed.NOTHING]
    assert [move.action for move in SittingMove.objects.all()] == [2, 0]


def test_two_agents_and_a_person_go_on_from_a_state_of_a_recorded_match(
    agent: Submission, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = upload(agent.agent.environment, "last", LAST)
    deliver_messages()
    opponents_set(agent=other.agent, opponents="EVERYONE")
    duel = Duel.objects.get(tournament__isnull=False)
    here = f"/duels/{duel.pk}/matches/2/from/4/"
    page = client.get(here)
    assertContains(page, "Go on from here")
    assertContains(client.get(f"/duels/{duel.pk}/matches/2/from/999/", follow=True), "The match is over here.")

    # A person, from a state that the arena played as the opening or the players have reached.
    board = str(client.post(f"{here}sit/", {"agent": "last", "seat": "first"})["Location"])
    row = Sitting.objects.get()
    record, _ = match_get(duel, 2)
    assert (row.seed, tuple(row.opening or ()), row.origin_ply) == (record.seed, record.actions[:4], 4)
    assertContains(client.get(board), "It goes on from")
    client.post(f"{board}resign/")
    assert step("sitting") is Performed.DONE
    assertContains(client.get(board), "The person resigned.")

    # Two agents: one match with each in the first seat, from the same state.
    member = Client()
    member.force_login(other.agent.owner)
    assert member.post(f"{here}play/", {"agent_1": "first", "agent_2": "nothing"}).status_code == 302
    made = member.post(f"{here}play/", {"agent_1": "first", "agent_2": "last"})
    line = Duel.objects.get(origin=duel)
    # Others ask no more of an agent than by a challenge, and nothing where its owner lets no other person choose.
    stranger = Client()
    stranger.force_login(factories.user("erik"))
    Rating.objects.all().delete()
    for opponents, why in (("EVERYONE", "has no rating yet"), ("NOBODY", "does not let other people choose")):
        Agent.objects.update(opponents=opponents)
        refused = stranger.post(f"{here}play/", {"agent_1": "first", "agent_2": "last"}, follow=True)
        assertContains(refused, why)
    assert challenge_list(agent.agent) == []
    assert made["Location"] == f"/duels/{line.pk}/"
    assert step("duel") is Performed.DONE
    line.refresh_from_db()
    with records_open(line) as archive:
        kept = archive.record()
    first, second = kept.matches
    assert {match.actions[:4] for match in (first, second)} == {record.actions[:4]}
    assert (first.seed, second.seed, first.opening_count) == (record.seed, record.seed, 4)
    assert (first.seats, second.seats) == ((0, 1), (1, 0))
    assert duel_recheck(line).mismatches == []
    # A participant who has nothing but the downloaded records checks the same, and the arena takes no other position.
    rules = get_spec(kept.environment)
    assert recheck_record(rules, kept) == []
    assert recheck_record(rules, kept, opening=record.actions[:3]) != []
    assert recheck_record(rules, replace(kept, opening=None)) != []
    assert LedgerEntry.objects.filter(duel=line).count() == 0
    assertContains(client.get(here), "Played on from here")
