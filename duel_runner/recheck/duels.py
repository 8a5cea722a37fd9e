"""Checks finished duels: record, row and ledger must agree."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from arena_kit.environment.record_archive import DuelArchive, MatchSummary
from arena_kit.environment.records import DuelRecord, half_points
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.ranking.sequential import SequentialTest, pairs_to_decide
from arena_kit.referee import play as referee
from arena_kit.referee.recheck.duels import CHECKED, recheck_record, spec_of
from arena_kit.referee.recheck.mismatch import Mismatch
from arena_kit.sandbox.base import Sandbox
from core.duels.selectors import records_open
from core.duels.services import ledger_entries, result_fields, test_result
from core.models import Duel
from duel_runner.recheck.base import Rechecked, recheck_keep, recheck_sandbox, rounded, row_faults
from duel_runner.rules import branch_of, decided_by, limits_of, rules

ENTRY_FIELDS = ("submission_id", "opponent_id", "seat", "wins", "losses", "draws", "errors", "opponent_errors", "score")


def duel_recheck(duel: Duel) -> Rechecked[DuelRecord]:
    """Check a finished duel and store the verdict. Raises PlatformFault if the arena no longer has its rules."""
    return recheck_keep(duel, lambda spec: _look(duel, spec))


def duel_again(duel: Duel, arena: Sandbox) -> DuelRecord:
    """Have the players of a duel play it again: same images, rules, seeds and number of matches, today's limits.

    Raises PlatformFault, also if an image is no longer on this host.
    """
    players = ((duel.player_1, duel.player_1_digest), (duel.player_2, duel.player_2_digest))
    environment, spec = duel.environment, rules(duel)
    with records_open(duel) as archive:
        spec = spec_of(spec, archive.record())
    with recheck_sandbox(environment, arena) as place:
        return referee.run_duel(
            spec,
            lambda player: place.launch(*players[player]),
            names=(str(duel.player_1), str(duel.player_2)),
            seed=duel.seed,
            match_count=duel.match_count,
            parallel_matches=environment.parallel_matches,
            limits=limits_of(duel, environment),
            clock=time.monotonic,
            one_core=place.core is not None,
            decided=decided_by(duel.test),
            opening=branch_of(duel),
        ).record


def _look(duel: Duel, spec: EnvironmentSpec) -> Rechecked[DuelRecord]:
    with records_open(duel) as archive:
        record = archive.record()
        found = [*_archive_faults(archive, record), *_kept_faults(duel, record)]
    found += recheck_record(spec, record, sha256=duel.record_sha256, opening=branch_of(duel))
    kept = "Hash, result and ledger agree" if duel.record_sha256 else "Result and ledger agree; no hash was kept"
    return Rechecked(record, found, f"{len(record.matches)} matches were simulated again: {CHECKED}. {kept}.")


def _archive_faults(archive: DuelArchive, record: DuelRecord) -> Iterator[Mismatch]:
    """Check the summary and the index of the record, which pages show without reading the matches."""
    if archive.summary != record.summary:
        yield Mismatch(None, "The summary in the record's header differs from its matches.")
    for listed, match in zip(archive.index, record.matches, strict=True):
        played = MatchSummary(
            match.number, match.outcome, match.fault, match.faulty_player, match.seats[0], len(match.actions)
        )
        if replace(listed, same_as=None) != played:
            yield Mismatch(match.number, "it differs from the index of the record.")


def _kept_faults(duel: Duel, record: DuelRecord) -> Iterator[Mismatch]:
    """Return sentences on values of the duel's row and the ledger that differ from its record."""
    played = {"matches_done" if duel.test else "match_count": len(record.matches)}
    counted = {"distinct_matches": record.distinct_matches}
    yield from row_faults(duel, {"seed": record.seed, **played, **counted, **result_fields(record.summary)})
    yield from _test_faults(duel, record)
    entries = [
        sorted(tuple(rounded(getattr(entry, name)) for name in ENTRY_FIELDS) for entry in group)
        for group in (ledger_entries(duel, record) if duel.tournament_id else (), duel.ledger_entries.all())
    ]
    if entries[0] != entries[1]:
        yield Mismatch(None, "The duel's entries in the ledger differ from its record.")


def _test_faults(duel: Duel, record: DuelRecord) -> Iterator[Mismatch]:
    """Check that a duel with a sequential test ended where the test ends it, and stores the test's result."""
    if duel.test is None:
        return
    pairs = pairs_to_decide(SequentialTest(**duel.test), half_points(record.matches))
    expected = duel.match_count if pairs is None else 2 * pairs
    if len(record.matches) != expected:
        yield Mismatch(None, f"It has {len(record.matches)} matches, but its test ends it after {expected}.")
    # The sentence is left out because agents can be renamed, and the ratio because it follows from the counts.
    kept, given = duel.test_result or {}, test_result(duel, record) or {}
    if any(kept.get(name) != given.get(name) for name in ("state", "pairs", "counts")):
        yield Mismatch(None, "The result of the test in the duel's row differs from its record.")
