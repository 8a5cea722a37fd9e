"""Checks of finished duels: differences between record, row and ledger raise an alarm."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django.fixtures import Settings

from arena_kit.environment.record_archive import DuelArchive, write_duel
from arena_kit.environment.records import DuelRecord, MatchRecord
from arena_kit.environment.registry import get_spec
from arena_kit.ranking.sequential import SequentialTest
from arena_kit.referee.wire import Kind
from arena_kit.sandbox.base import Launch, Sandbox, SandboxError
from arena_kit.sandbox.lock_file import tokens_alive
from arena_kit.tests.duels import at, last_valid, mixed, play
from core.append_only import unprotected
from core.duels.services import duel_succeed
from core.jobs.artifacts import artifacts_stored
from core.jobs.lifecycle import job_claim
from core.models import Alarm, Duel, Environment, JobFault, JobState, LedgerEntry, RecheckVerdict
from core.tests import factories
from core.tests.working import run
from duel_runner.recheck.duels import duel_again, duel_recheck
from duel_runner.recheck.sample import results_recheck
from duel_runner.rules import decided_by
from duel_runner.tests.commands import recheck
from duel_runner.workplace import worker_label

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def duels() -> list[Duel]:
    """Return three waiting duels of anna, berta and clara."""
    ann = factories.user("ann")
    environment = factories.environment()
    players = [factories.ready(factories.agent(ann, environment, name)) for name in ("anna", "berta", "clara")]
    tournament = factories.tournament(players)
    factories.moved(tournament.duels.all(), JobState.QUEUED)
    return list(tournament.duels.all())


@pytest.fixture
def duel(duels: list[Duel]) -> Duel:
    return finished(duels[0])


def finished(waiting: Duel, rules: str = "tic-tac-toe-v1") -> Duel:
    """Finish a duel as a worker does; player 2 forfeits match 5."""
    duel = job_claim(kind=Duel, job_id=waiting.pk, worker="worker-1")
    assert duel is not None
    played = play(mixed, at(5, 1, lambda _: None), spec=get_spec(rules), matches=duel.match_count, seed=duel.seed)
    with artifacts_stored(
        job=duel, record=played.record, player_logs=played.player_logs, digests=("", "")
    ) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log="")
    return Duel.objects.get(pk=duel.pk)


def rewrite(duel: Duel, change: Callable[[DuelRecord], DuelRecord]) -> None:
    """Replace the stored record by a different valid one."""
    with duel.records.open("rb") as file:
        record = DuelArchive(file).record()
    with duel.records.storage.open(str(duel.records.name), "wb") as stored:
        write_duel(change(record), stored)


def with_match(number: int, change: Callable[[MatchRecord], dict[str, Any]]) -> Callable[[DuelRecord], DuelRecord]:
    return lambda record: replace(
        record,
        matches=tuple(replace(match, **change(match)) if match.number == number else match for match in record.matches),
    )


def test_what_plays_a_duel_again_is_a_leftover_once_its_process_has_died(duel: Duel, settings: Settings) -> None:
    launched: list[Launch] = []

    class Refusing:
        def check(self) -> None: ...

        def launch(self, launch: Launch) -> None:
            assert launch.labels[worker_label()] in tokens_alive(settings.CHANNEL_DIR)
            launched.append(launch)
            raise SandboxError("There is no room.", code="no_room")

    with pytest.raises(SandboxError):
        duel_again(duel, cast(Sandbox, Refusing()))
    (launch,) = launched
    assert launch.labels[worker_label()] not in tokens_alive(settings.CHANNEL_DIR)


def test_a_duel_as_it_was_played_verifies(duel: Duel) -> None:
    recheck = duel_recheck(duel)

    duel.refresh_from_db()
    assert recheck.mismatches == []
    assert recheck.record is not None
    assert (duel.verdict, duel.verified_at is None) == (RecheckVerdict.VERIFIED, False)
    assert duel.verification.startswith("10 matches were simulated again: seats, seeds, openings, legal actions")
    assert duel.verification.endswith("Hash, result and ledger agree.")
    assert not Alarm.objects.exists()


@pytest.mark.parametrize(
    ("played", "verdict"),
    [("tic-tac-toe-v2-bare", RecheckVerdict.VERIFIED), ("tic-tac-toe-v2", RecheckVerdict.MISMATCH)],
)
def test_a_duel_without_openings_verifies_and_none_with_openings_passes_for_it(
    duels: list[Duel], played: str, verdict: RecheckVerdict
) -> None:
    Duel.objects.filter(pk=duels[0].pk).update(environment_version="tic-tac-toe-v2-bare")
    duel = finished(duels[0], played)
    found = duel_recheck(duel)
    duel.refresh_from_db()
    assert duel.verdict == verdict, found.mismatches
    assert found.record is not None
    assert {match.opening_count > 0 for match in found.record.matches} == {played == "tic-tac-toe-v2"}


def test_a_duel_from_before_hashes_verifies_and_says_what_is_missing(duel: Duel) -> None:
    Duel.objects.update(record_sha256="")

    duel_recheck(Duel.objects.get(pk=duel.pk))

    assert Duel.objects.get(pk=duel.pk).verification.endswith("Result and ledger agree; no hash was kept.")


def lose(duel: Duel) -> None:
    duel.records.storage.delete(str(duel.records.name))


def damage(duel: Duel) -> None:
    with duel.records.storage.open(str(duel.records.name), "wb") as file:
        file.write(b"PK")


def head_otherwise(duel: Duel, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the record's header, which pages show without reading the matches."""
    with duel.records.open("rb") as old, zipfile.ZipFile(old) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["duel.json"])
    change(header)
    new = duel.records.storage.open(str(duel.records.name), "wb")
    with new, zipfile.ZipFile(new, "w") as archive:
        for name, data in (parts | {"duel.json": json.dumps(header).encode()}).items():
            archive.writestr(name, data)


def play_otherwise(duel: Duel) -> None:
    other = play(last_valid, last_valid, spec=get_spec("tic-tac-toe-v1"), matches=10, seed=duel.seed).record
    rewrite(duel, lambda _: other)


def forge(deed: Callable[..., object], **fields: object) -> None:
    """Change the ledger as only the owner of the database can."""
    with unprotected(connection):
        deed(**fields)


TROUBLES: dict[str, tuple[Callable[[Duel], object], str]] = {
    "record gone": (lose, "The records of this duel are no longer stored."),
    "record damaged": (damage, "The records of this duel are damaged"),
    "another match": (
        lambda duel: rewrite(duel, with_match(1, lambda match: {"actions": match.actions[:-1]})),
        "Match 1: it stops before its end without a fault.",
    ),
    "another duel": (play_otherwise, "The record's hash is "),
    "another summary": (
        lambda duel: head_otherwise(duel, lambda header: header["summary"].update(draws=7)),
        "The summary in the record's header differs from its matches.",
    ),
    "another index": (
        lambda duel: head_otherwise(duel, lambda header: header["index"][3].__setitem__(4, 99)),
        "Match 4: it differs from the index of the record.",
    ),
    "another seed": (lambda duel: Duel.objects.update(seed=duel.seed + 1), "The duel's row says seed "),
    "more matches": (
        lambda _: Duel.objects.update(match_count=12),
        "row says match_count 12, its record 10",
    ),
    "another winner": (
        lambda duel: Duel.objects.filter(pk=duel.pk).update(outcome="DRAW"),
        "The duel's row says outcome 'DRAW'",
    ),
    "another score": (lambda _: Duel.objects.update(player_2_score=0.5), "The duel's row says player_2_score 0.5"),
    "another hash": (lambda _: Duel.objects.update(record_sha256="0" * 64), "The record's hash is "),
    "an entry changed": (
        lambda duel: forge(LedgerEntry.objects.filter(duel=duel, seat=0).update, wins=99),
        "The duel's entries in the ledger differ from its record.",
    ),
    "an entry gone": (
        lambda duel: forge(LedgerEntry.objects.filter(duel=duel, seat=0).delete),
        "The duel's entries in the ledger differ from its record.",
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_does_not_fit_raises_an_alarm(trouble: str, duel: Duel, caplog: pytest.LogCaptureFixture) -> None:
    make, sentence = TROUBLES[trouble]
    make(duel)

    recheck = duel_recheck(Duel.objects.get(pk=duel.pk))

    duel.refresh_from_db()
    assert any(sentence in str(mismatch) for mismatch in recheck.mismatches), recheck.mismatches
    assert duel.verdict == RecheckVerdict.MISMATCH
    assert str(recheck.mismatches[0]) in duel.verification
    alarm = Alarm.objects.get()
    assert (alarm.key, alarm.settled_at) == (f"duel-{duel.pk}-does-not-verify", None)
    assert (alarm.address, duel.verification in alarm.message) == (f"/duels/{duel.pk}/", True)
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert line.getMessage() == f"ALARM duel-{duel.pk}-does-not-verify: {alarm.message}"


def test_a_duel_that_verifies_again_settles_its_alarm(duel: Duel) -> None:
    played = Duel.objects.filter(pk=duel.pk)
    played.update(outcome="DRAW")
    duel_recheck(Duel.objects.get(pk=duel.pk))
    played.update(outcome=duel.outcome)

    duel_recheck(Duel.objects.get(pk=duel.pk))

    assert Alarm.objects.get().settled_at is not None
    assert Duel.objects.get(pk=duel.pk).verdict == RecheckVerdict.VERIFIED


def test_every_run_checks_a_share_and_never_checked_duels_first(duels: list[Duel], settings: Settings) -> None:
    for duel in duels:
        finished(duel)
    rows = Duel.objects.order_by("verified_at")
    settings.RECHECK_SAMPLE = 0.05

    results_recheck()
    (first,) = rows.exclude(verified_at=None)
    results_recheck()
    results_recheck()
    assert rows.filter(verdict=RecheckVerdict.VERIFIED).count() == 3
    assert rows[0] == first
    results_recheck()
    assert rows[2] == first


@pytest.mark.parametrize(("sample", "per_run", "checked"), [(0.0, 20, 0), (1.0, 20, 3), (1.0, 2, 2), (0.5, 20, 2)])
def test_a_share_is_checked_up_to_the_most_of_a_run(
    sample: float,
    per_run: int,
    checked: int,
    duels: list[Duel],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for duel in duels:
        finished(duel)
    settings.RECHECK_SAMPLE = sample
    monkeypatch.setattr("duel_runner.recheck.sample.MOST_PER_RUN", per_run)

    results_recheck()

    assert Duel.objects.exclude(verified_at=None).count() == checked


def test_a_duel_in_trouble_does_not_keep_others_from_being_checked(duels: list[Duel], settings: Settings) -> None:
    for duel in duels:
        finished(duel)
    Duel.objects.filter(pk=duels[0].pk).update(environment_version="tic-tac-toe-v0")
    settings.RECHECK_SAMPLE = 1.0

    results_recheck()

    verdicts = [duel.verdict for duel in Duel.objects.order_by("pk")]
    assert verdicts == [RecheckVerdict.UNCHECKABLE, RecheckVerdict.VERIFIED, RecheckVerdict.VERIFIED]
    assert "are no longer in this arena's code" in Duel.objects.get(pk=duels[0].pk).verification
    assert not Alarm.objects.exists()


def test_what_breaks_a_check_does_not_break_the_next(
    duels: list[Duel], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(duels[0])
    settings.RECHECK_SAMPLE = 1.0
    monkeypatch.setattr(type(get_spec("tic-tac-toe-v1").make()), "reset", lambda *_: 1 / 0)

    results_recheck()

    duel = Duel.objects.get(pk=duels[0].pk)
    assert (duel.verdict, duel.verified_at is None) == (RecheckVerdict.UNCHECKABLE, False)


# --- The command -------------------------------------------------------------------------------------------


def test_the_command_says_what_it_checked_of_every_match(duel: Duel) -> None:
    code, said = recheck(duel)
    lines = said.splitlines()

    assert code == 0
    assert [line.partition(":")[0] for line in lines[:10]] == [f"Match {number}" for number in range(1, 11)]
    assert lines[4] == "Match 5: ok, player_1, player_died in 3 moves"
    assert lines[-3:] == [
        f"Duel {duel.pk}: anna v1 against berta v1, tic-tac-toe-v1, seed {duel.seed}",
        f"sha256 {duel.record_sha256}",
        f"Verified: {Duel.objects.get(pk=duel.pk).verification}",
    ]


def test_the_command_says_what_is_wrong_and_fails(duel: Duel) -> None:
    rewrite(duel, with_match(2, lambda match: {"seats": (0, 1)}))

    code, said = recheck(duel)
    lines = said.splitlines()

    assert code == 1
    assert "MISMATCH Match 2: its seats are (0, 1), not (1, 0)." in lines
    assert not any(line.startswith("Match 2: ok") for line in lines)
    assert lines[-1].startswith("DOES NOT VERIFY: ")


def test_the_command_checks_what_has_a_result_alone(duels: list[Duel], duel: Duel) -> None:
    Duel.objects.filter(pk=duel.pk).update(environment_version="tic-tac-toe-v0")
    for number, sentence in (
        (duels[1].pk, "has no result to check: it is waiting"),
        (987654, "There is no duel 987654"),
        (duel.pk, "cannot be checked: The rules of this duel, tic-tac-toe-v0, are no longer"),
    ):
        with pytest.raises(CommandError, match=sentence) as refused:
            call_command("recheck", "duel", str(number))
        assert refused.value.returncode == 2


# --- While it is played -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_duel_whose_rules_are_gone_is_not_played_with_others(duels: list[Duel], settings: Settings) -> None:
    settings.JOB_MAX_ATTEMPTS = 1
    Environment.objects.update(version=2)
    Duel.objects.filter(pk=duels[0].pk).update(environment_version="tic-tac-toe-v0")

    run(duels[0])

    duel = Duel.objects.get(pk=duels[0].pk)
    assert (duel.state, duel.fault, duel.error_code) == (JobState.FAILED, JobFault.PLATFORM, "rules_missing")
    assert duel.error == "The rules of this duel, tic-tac-toe-v0, are no longer in this arena's code."


# --- Duels that a sequential test has ended ----------------------------------------------------------------


def stopped(waiting: Duel) -> Duel:
    """Finish a duel as a worker does: player 1 wins every match of four pairs, and the test ends the duel."""
    Duel.objects.filter(pk=waiting.pk).update(test=SequentialTest(-100, 100, cap=5).as_json)
    duel = job_claim(kind=Duel, job_id=waiting.pk, worker="worker-1")
    assert duel is not None
    losing = lambda asked: asked.good_answer() if asked.kind is Kind.END else None  # noqa: E731
    played = play(
        mixed,
        losing,
        spec=get_spec("tic-tac-toe-v1"),
        matches=duel.match_count,
        seed=duel.seed,
        decided=decided_by(duel.test),
    )
    with artifacts_stored(job=duel, record=played.record, player_logs=("", ""), digests=("", "")) as artifacts:
        duel_succeed(duel=duel, record=played.record, artifacts=artifacts, log="")
    return Duel.objects.get(pk=duel.pk)


def test_a_duel_that_its_test_has_ended_verifies_with_fewer_matches(duels: list[Duel]) -> None:
    duel = stopped(duels[0])
    assert (duel.matches_done, duel.match_count) == (8, 10)
    assert duel.test_result is not None
    assert duel.test_result["counts"] == [0, 0, 0, 0, 4]
    assert duel_recheck(duel).mismatches == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"test": SequentialTest(-100, 100, 0.2, 0.2, cap=5).as_json}, "its test ends it after"),
        (
            {"test_result": {"state": "accepted H0", "pairs": 4, "counts": [0, 0, 0, 0, 4]}},
            "result of the test in the duel's row",
        ),
        ({"test_result": None}, "result of the test in the duel's row"),
        ({"test": None}, "match_count 10, its record 8"),
    ],
)
def test_a_duel_that_did_not_end_as_its_test_says_is_found(
    duels: list[Duel], change: dict[str, Any], found: str
) -> None:
    duel = stopped(duels[0])
    Duel.objects.filter(pk=duel.pk).update(**change)
    assert any(found in str(mismatch) for mismatch in duel_recheck(Duel.objects.get(pk=duel.pk)).mismatches)
