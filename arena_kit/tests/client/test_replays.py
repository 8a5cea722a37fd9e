"""The replay that a site answers with is read with checks, whatever it holds."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from arena_kit.client import Client, SiteError, Trouble
from arena_kit.client.replays import replay_of
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.document import ReplayOptions, document_bytes, replay_document
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.tests.client.sites import Said, said, site
from arena_kit.tests.environment.playing import duel_record

SPEC = get_spec("tic-tac-toe")
MATCH = duel_record(SPEC).matches[0]
FACTS = ReplayFacts("duel-1-match-1", (ReplayAgent("7", "anna v1", 1), ReplayAgent("9", "berta v2", 2)))


def document() -> dict[str, Any]:
    """A document as a site sends it."""
    found: dict[str, Any] = json.loads(document_bytes(replay_document(SPEC, MATCH, FACTS)))
    return found


def test_a_document_is_read_state_by_state() -> None:
    found = replay_of(document())
    assert (found.number, found.names, found.is_truncated) == (1, ("anna v1", "berta v2"), False)
    assert [frame.number for frame in found.frames] == list(range(len(MATCH.actions) + 1))
    assert found.frames[0].actions == ()
    names = [found.names[MATCH.seats[ply % 2]] for ply in range(len(MATCH.actions))]
    assert [frame.actions for frame in found.frames[1:]] == [
        ((name, str(action)),) for name, action in zip(names, MATCH.actions, strict=True)
    ]
    assert sum(frame.is_opening for frame in found.frames) == MATCH.opening_count > 0


def test_arrays_are_shown_by_their_values() -> None:
    data = document()
    data["frames"][1]["actions"] = {"7": [0.5, None, -1]}
    assert replay_of(data).frames[1].actions == (("anna v1", "0.5, not finite, -1"),)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    data = document()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.clear(),
        lambda data: data.update(version="2.0"),
        lambda data: data.update(version=1.0),
        lambda data: data.update(frames=[]),
        lambda data: data.update(frames={}),
        lambda data: data.update(frames=[[]]),
        lambda data: data.update(truncated="no"),
        lambda data: data.update(metadata=[]),
        lambda data: data["metadata"].update(agents=[]),
        lambda data: data["metadata"].update(agents=[{"agent_id": 7, "name": "x"}]),
        lambda data: data["metadata"].update(number=1.5),
        lambda data: data["frames"][1].update(actions=[1]),
        lambda data: data["frames"][1].update(actions={"no\x1b[2J": 1}),
        lambda data: data["frames"][1].update(actions={"7": "1"}),
        lambda data: data["frames"][1].update(actions={"7": True}),
        lambda data: data["frames"][1].update(actions={"7": 1 << 70}),
        lambda data: data["frames"][1].update(actions={"7": [1, "2"]}),
        lambda data: data["frames"][1].update(actions={"7": [float("nan")]}),
        lambda data: data["frames"][1].update(info="text"),
        lambda data: data["frames"][1].update(frame_number="1"),
        lambda data: data["frames"][1].update(opening=1),
    ],
)  # fmt: skip
def test_anything_else_is_not_understood(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(SiteError) as caught:
        replay_of(changed(change))
    assert caught.value.trouble is Trouble.NOT_UNDERSTOOD
    assert "\x1b" not in str(caught.value)


def test_an_answer_of_the_older_api_is_not_understood() -> None:
    with pytest.raises(SiteError, match="older or newer"):
        replay_of({"environment_version": "tic-tac-toe-v1", "frames": [{"frame": {}, "text": "", "moves": []}]})


def test_names_and_texts_are_cleaned() -> None:
    data = document()
    data["metadata"]["agents"][0]["name"] = "an\x1b[2Jna"
    data["frames"][0]["info"]["text"] = "a\x1b[2J\u202eb"
    found = replay_of(data)
    assert not set("\x1b\u202e") & set("".join(found.names))
    assert "\x1b" not in found.frames[0].text


def test_the_client_asks_for_what_is_wanted() -> None:
    with site() as running:
        running.answer = said(document())
        client = Client(running.url)
        assert client.replay(3, 1, ReplayOptions(include_observations=False, max_frames=5)).number == 1
        assert running.asked[-1][1] == (
            "/api/v1/duels/3/matches/1/replay/?include_observations=false&include_actions=true&max_frames=5"
        )
        running.answer = Said(200, b"<html>", "text/html")
        target = io.BytesIO()
        client.replay_file(3, 1, target, form="html")
        assert (target.getvalue(), running.asked[-1][1]) == (b"<html>", "/api/v1/duels/3/matches/1/replay/?format=html")
        client.replay_file(3, 1, target, form="json", compress=True)
        assert running.asked[-1][1].endswith("?format=json&gzip=true")
