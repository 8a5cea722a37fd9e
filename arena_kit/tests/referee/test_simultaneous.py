"""Matches in which both seats move at once: whole steps, faults within a step, time, and what records become."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from arena_kit.environment.adapters.classic.document import classic_document
from arena_kit.environment.loading import load
from arena_kit.environment.record_archive import DuelArchive, write_duel
from arena_kit.environment.records import DuelRecord, Fault, MatchRecord, record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayMismatch, replay
from arena_kit.environment.spec import Limits
from arena_kit.referee.duel import Duel
from arena_kit.referee.play import PlayedDuel
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.referee.wire import Kind
from arena_kit.tests import duels
from arena_kit.tests.duels import FAST, PATIENT, at, faults, mixed, outline
from arena_kit.tests.fake import Answerer, Asked, FakeContainer, Said, action, text_answer

WHOLE = get_spec("pong")
Pong: Any = load(WHOLE.entry_point, WHOLE.folder)


class ShortPong(Pong):  # type: ignore[misc]  # the folder of an environment has no types
    """Pong that ends after 60 steps, because players of tests are slow."""

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        rewards: tuple[float, ...] = super().step(actions)
        self._over: bool = self.frame()["over"] or self.frame()["steps"] >= PONG.max_steps
        return rewards


PONG = replace(WHOLE, entry_point=f"{__name__}:ShortPong", max_steps=60)
STEP = 30
"""The step of these tests' faults: the sequence of its questions, counted from 0."""


def play(player_1: Any, player_2: Any, **options: Any) -> PlayedDuel:
    return duels.play(player_1, player_2, spec=PONG, **{"matches": 2, **options})


def illegal(asked: Asked) -> bytes:
    return action(asked.match, asked.sequence, 7)


def raises(asked: Asked) -> bytes:
    return text_answer(Kind.ERROR, asked.match, asked.sequence, "ValueError: no idea")


def hangs_up(asked: Asked) -> None:
    return None


class Reader:
    """What the referee has read so far, so that a player can answer after its rival."""

    def __init__(self) -> None:
        self._read: set[tuple[int, ...]] = set()
        """Match, player and sequence of each answer; the number alone of a match that is over."""
        self._changed = threading.Condition()

    def note(self, *read: int) -> None:
        with self._changed:
            self._read.add(read)
            self._changed.notify_all()

    def after(self, rival: int, answerer: Answerer) -> Answerer:
        """Return a player that answers each question when the referee has read the rival's answer to the same step."""

        def waits(asked: Asked) -> Said:
            if asked.kind is not Kind.END:
                with self._changed:
                    wanted = {(asked.match, rival, asked.sequence), (asked.match,)}
                    assert self._changed.wait_for(lambda: wanted & self._read, timeout=60)
            return answerer(asked)

        return waits


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    made, answer, keep = Reader(), Duel._answer, Duel._keep

    def noted(duel: Duel, link: Any, request: Any, *rest: Any) -> None:
        answer(duel, link, request, *rest)
        made.note(request.number, link.index, request.sequence)

    def kept(duel: Duel, match: Any) -> None:
        keep(duel, match)
        made.note(match.number)

    monkeypatch.setattr(Duel, "_answer", noted)
    monkeypatch.setattr(Duel, "_keep", kept)
    return made


def test_both_seats_are_asked_at_once_and_every_step_has_two_actions() -> None:
    containers: list[FakeContainer] = []
    record = play(mixed, mixed, matches=6, parallel=3, containers=containers).record
    for match in record.matches:
        assert len(match.actions) == sum(match.move_counts)
        assert match.move_counts[0] == match.move_counts[1] <= PONG.max_steps
        assert sum(match.scores) == 0
    assert {container.most_at_once() for container in containers} == {3}
    assert recheck_record(PONG, record, sha256=record_sha256(record)) == []


def test_records_do_not_depend_on_how_many_matches_run_at_once() -> None:
    def dies(asked: Asked) -> Said:
        if asked.match in (3, 6) and asked.sequence == STEP and asked.kind is not Kind.END:
            return None
        return mixed(asked)

    played = [play(dies, mixed, matches=8, parallel=parallel) for parallel in (1, 3, 8)]
    assert [outline(duel.record) for duel in played[1:]] == [outline(played[0].record)] * 2
    assert faults(played[0]) == {3: (0, "player_died"), 6: (0, "player_died")}
    assert recheck_record(PONG, played[2].record) == []


@pytest.mark.parametrize("fault", [illegal, raises])
@pytest.mark.parametrize("is_first", [True, False], ids=["answers first", "answers second"])
def test_a_fault_in_a_step_forfeits_whoever_answers_first(reader: Reader, fault: Any, is_first: bool) -> None:
    failing: Answerer = at(1, STEP, fault)
    good: Answerer = mixed
    if is_first:
        good = reader.after(0, good)
    else:
        failing = reader.after(1, failing)
    record = play(failing, good, parallel=1).record

    match = record.matches[0]
    assert (match.faulty_player, match.fault, match.scores) == (0, Fault.PLAYER, (-11.0, 11.0))
    # The half-chosen step is not among the actions, but the move of the player that chose counts.
    assert len(match.actions) == 2 * STEP
    assert match.move_counts == (STEP, STEP + 1)
    assert recheck_record(PONG, record) == []
    assert len(list(replay(PONG, match))) == STEP + 1


@pytest.mark.parametrize("faults_of_both", [(illegal, illegal), (raises, illegal), (illegal, hangs_up)])
@pytest.mark.parametrize("sooner", [0, 1])
def test_if_both_fail_in_one_step_the_first_seat_forfeits(reader: Reader, faults_of_both: Any, sooner: int) -> None:
    def failing(player: int) -> Answerer:
        def answers(asked: Asked) -> Said:
            fails = asked.sequence == STEP and asked.kind is not Kind.END
            return faults_of_both[player](asked) if fails else mixed(asked)

        return answers

    # A process that is lost is not waited for, so it has to be the second.
    sooner = 0 if faults_of_both[1] is hangs_up else sooner
    players = [failing(0), failing(1)]
    players[1 - sooner] = reader.after(sooner, players[1 - sooner])
    record = play(*players, parallel=1).record

    # Player 1 has the first seat in match 1, player 2 in match 2.
    assert [match.faulty_player for match in record.matches] == [0, 1]
    assert [match.move_counts for match in record.matches] == [(STEP, STEP)] * 2
    assert [len(match.actions) for match in record.matches] == [2 * STEP] * 2
    assert record.summary.errors == (1, 1)
    assert recheck_record(PONG, record) == []


def test_a_move_that_was_chosen_before_a_loss_stands_in_the_fresh_container(reader: Reader) -> None:
    # Player 1 chooses in match 1 and dies in match 2, while player 2 has not yet chosen in match 1.
    dies = at(2, STEP, hangs_up)
    waits = reader.after(0, mixed)
    record = play([dies, mixed], waits, parallel=2).record

    assert faults_of(record) == {2: (0, "player_died")}
    assert record.matches[0].fault is Fault.NONE
    assert recheck_record(PONG, record) == []


def test_a_blamed_answer_is_not_asked_for_again_after_a_loss(reader: Reader) -> None:
    def first(asked: Asked) -> Said:
        if asked.sequence == STEP and asked.kind is not Kind.END:
            return illegal(asked) if asked.match == 1 else None
        return mixed(asked)

    record = play([first, mixed], reader.after(0, mixed), parallel=1, matches=2).record
    assert faults_of(record) == {1: (0, "illegal_action"), 2: (0, "player_died")}


class TestTimeBanks:
    """A clock that one player moves, after the referee has read the other's answer."""

    limits = replace(PATIENT, move_seconds=1.0, bank_seconds=2.0, duel_seconds=1e9)

    def duel(self, reader: Reader, slow: int, seconds: list[float]) -> PlayedDuel:
        now, left = [100.0], iter(seconds)

        def thinks(asked: Asked) -> Said:
            if asked.kind is not Kind.END:
                now[0] += next(left, 0.0)
            return asked.good_answer()

        players: list[Answerer] = [mixed, mixed]
        players[slow] = reader.after(1 - slow, thinks)
        return play(*players, parallel=1, matches=1, limits=self.limits, clock=lambda: now[0])

    @pytest.mark.parametrize("slow", [0, 1])
    def test_each_player_pays_for_its_own_time(self, reader: Reader, slow: int) -> None:
        within = self.duel(reader, slow, [1.9, 1.9]).record.matches[0]
        assert within.fault is Fault.NONE
        assert within.slowest_move_seconds[slow] == pytest.approx(1.9)
        assert within.thinking_seconds[1 - slow] == 0.0

    @pytest.mark.parametrize("slow", [0, 1])
    def test_an_empty_bank_forfeits_in_the_half_chosen_step(self, reader: Reader, slow: int) -> None:
        record = self.duel(reader, slow, [1.9, 1.9, 1.9]).record
        assert faults_of(record) == {1: (slow, "player_timed_out")}
        assert record.matches[0].move_counts[slow] == 2
        assert record.matches[0].move_counts[1 - slow] == 3
        assert recheck_record(PONG, record) == []


def test_a_player_that_never_answers_loses_the_match_to_the_one_that_did() -> None:
    limits: Limits = replace(FAST, move_seconds=0.3, bank_seconds=0.2, max_restarts=0)
    record = play(mixed, at(1, STEP, lambda _: b""), matches=1, parallel=1, limits=limits).record
    assert faults_of(record) == {1: (1, "player_timed_out")}
    assert record.matches[0].move_counts == (STEP + 1, STEP)


@pytest.fixture(scope="module")
def record() -> DuelRecord:
    return play(at(3, STEP, illegal), mixed, matches=4).record


def test_a_replay_shows_both_moves_of_every_step(record: DuelRecord) -> None:
    match = record.matches[0]
    steps = list(replay(PONG, match))
    assert [seat for seat, _ in steps[1].moves] == [0, 1]
    assert [action for step in steps for _, action in step.moves] == list(match.actions)
    assert steps[-1].scores == tuple(match.scores[player] for player in match.seats)
    with pytest.raises(ReplayMismatch, match="ends within a step"):
        list(replay(PONG, replace(match, actions=match.actions[:-1])))


def test_the_classic_document_has_every_state_of_a_simultaneous_match(record: DuelRecord) -> None:
    file = io.BytesIO()
    write_duel(record, file)
    document = json.loads("".join(classic_document(PONG, DuelArchive(file))))
    assert document == json.loads("".join(classic_document(PONG, record)))
    assert [match["result"] for match in document["matches"]][2] == "PLAYER_1_ERROR"
    for match, kept in zip(document["matches"], record.matches, strict=True):
        assert len(match["states"]) == len(kept.actions) // 2 + 1
        assert match["first_player"] == f"PLAYER_{kept.seats[0] + 1}"


@pytest.mark.parametrize(
    ("number", "change", "sentence"),
    [
        (1, lambda m: {"actions": m.actions[:-1]}, "the record ends within a step"),
        (1, lambda m: {"move_counts": (m.move_counts[0] + 1, m.move_counts[1])}, "its move counts are"),
        (3, lambda m: {"move_counts": (m.move_counts[0] + 1, m.move_counts[1])}, "its move counts are"),
        (3, lambda m: {"move_counts": (m.move_counts[0], m.move_counts[1] + 1)}, "its move counts are"),
        (2, lambda m: {"actions": (*m.actions[:9], 3, *m.actions[10:])}, "is not possible"),
        (3, lambda m: {"scores": (11.0, -11.0)}, "its scores are"),
    ],
)
def test_a_changed_record_is_found(record: DuelRecord, number: int, change: Any, sentence: str) -> None:
    def tampered(match: MatchRecord) -> MatchRecord:
        return replace(match, **change(match)) if match.number == number else match

    assert recheck_record(PONG, record) == []
    other = replace(record, matches=tuple(tampered(match) for match in record.matches))
    assert any(sentence in str(mismatch) for mismatch in recheck_record(PONG, other))


def faults_of(record: DuelRecord) -> dict[int, tuple[int | None, str]]:
    return {m.number: (m.faulty_player, m.error_code) for m in record.matches if m.fault is not Fault.NONE}
