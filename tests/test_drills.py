"""From a lost challenge to the position before the mistake, and to the versions that find the move there."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains
from pytest_django.live_server_helper import LiveServer

from arena_kit.cli.main import main
from core.duels.challenges import challenge_create
from core.models import Agent, Analysis, Blunder, Drill, DrillMove, JobState, Opponents
from core.people.tokens import token_create
from core.submissions.services import submission_create
from tests.samples import FIRST, MIDDLE, archive, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
SOLVING = """
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

def value(cells, mover):
    if any(cells[a] == cells[b] == cells[c] != 0 for a, b, c in LINES):
        return -1
    free = [cell for cell in range(9) if not cells[cell]]
    return max((-value(put(cells, cell, mover), -mover) for cell in free), default=0)

def put(cells, cell, mover):
    return cells[:cell] + (mover,) + cells[cell + 1:]

class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        *cells, mover = map(int, state)
        return max(valid_actions, key=lambda cell: -value(put(tuple(cells), int(cell), mover), -mover))
    def step(self, state, valid_actions, prev_reward):
        return self.start(state, valid_actions)
    def end(self, state, prev_reward): pass
"""


@pytest.fixture
def lost(sandbox: str) -> Agent:
    """The agent middle, which has lost a challenge."""
    game = tic_tac_toe()
    made, rival = upload(game, "middle", MIDDLE), upload(game, "first", FIRST)
    deliver_messages()
    Agent.objects.filter(pk=rival.agent_id).update(opponents=Opponents.EVERYONE)
    rival.agent.refresh_from_db()
    challenge_create(user=made.agent.owner, agent=made.agent, opponent=rival.agent)
    deliver_messages()
    return made.agent


def arena(*words: str) -> tuple[int, str]:
    with redirect_stdout(io.StringIO()) as out:
        status = main(words)
    return status, out.getvalue()


def test_a_lost_challenge_leads_to_positions_that_new_versions_and_folders_are_asked_in(
    lost: Agent, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Analysis.objects.get(asked_by=lost.owner).state == JobState.SUCCEEDED
    own = Blunder.objects.filter(agent=lost)
    assert own.exists()
    owner, page = Client(), f"/environments/tic-tac-toe/agents/{lost.name}/"
    owner.force_login(lost.owner)
    assertContains(owner.get(page), "Positions to learn from")
    assertContains(owner.get("/inbox/"), "It would have kept")
    assertNotContains(Client().get(page), "Positions to learn from")

    submission_create(agent=lost, archive=archive(SOLVING))
    deliver_messages()

    drill = Drill.objects.get(submission__agent=lost)
    assert (drill.state, drill.submission.number) == (JobState.SUCCEEDED, 2)
    moves = DrillMove.objects.filter(submission=drill.submission)
    assert moves.count() == own.count()
    assert all(move.action in move.blunder.holding and move.is_found for move in moves)
    assertContains(owner.get(page), f"v2 finds {own.count()} of {own.count()}.")

    token = token_create(owner=lost.owner, name="laptop", now=timezone.now(), days=1)[1]
    monkeypatch.setenv("ARENA_URL", live_server.url)
    monkeypatch.setenv("ARENA_TOKEN", token)
    status, listed = arena("blunders", lost.name)
    assert status == 0
    assert listed.count("found by v2, missed by v1") == own.count()
    status, kept = arena("blunders", lost.name, "--json")
    file = tmp_path / "positions.json"
    file.write_text(kept)
    monkeypatch.delenv("ARENA_URL")
    for name, source, code in (("good", SOLVING, 0), ("bad", MIDDLE, 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "player.py").write_text(source)
        status, said = arena("blunders", str(file), "--player", str(tmp_path / name), "--sandbox", "process", "--json")
        found = json.loads(said)
        assert (status, found["missed"] == 0) == (code, code == 0)
        assert found["found"] + found["missed"] == own.count()
