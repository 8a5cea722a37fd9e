"""Finished duels against what is kept of them: record, row and ledger must tell the same story."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import F

from core.models import Duel, DuelVerdict, JobState
from core.selectors.duels import NotStored, records_open
from core.services.duels import duel_verdict, ledger_entries, result_fields
from core.worker import PlatformFault
from duel_runner import referee
from duel_runner.bench import worker_label
from duel_runner.cores import free_core
from duel_runner.presence import Presence
from duel_runner.rules import rules
from duel_runner.sandbox.base import Container, Launch, Sandbox
from duel_runner.verify import CHECKED, Mismatch, verify_record
from environments.archive_format import DuelArchive, MatchSummary
from environments.records import DuelRecord

logger = logging.getLogger(__name__)
SHOWN_MISMATCHES = 3
ENTRY_FIELDS = ("submission_id", "opponent_id", "seat", "wins", "losses", "draws", "errors", "opponent_errors", "score")


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of checking a duel. record: None when it cannot be read; then the one mismatch says why."""

    record: DuelRecord | None
    mismatches: list[Mismatch]


def duels_verify(_: int = 0) -> None:
    """Check a share of the finished duels: by chance among those never checked, then those longest ago."""
    finished = Duel.objects.filter(state=JobState.SUCCEEDED)
    count = min(settings.VERIFY_PER_RUN, math.ceil(settings.VERIFY_SAMPLE * finished.count()))
    for duel in finished.order_by(F("verified_at").asc(nulls_first=True), "?")[:count]:
        try:
            duel_audit(duel)
        except PlatformFault as fault:
            logger.warning("Duel %s cannot be checked: %s", duel.pk, fault)
        except Exception:
            # One duel in trouble must not keep the others from being looked at, now or next time.
            logger.exception("Checking duel %s went wrong.", duel.pk)
            trouble = "Something went wrong inside the arena while it was checked."
            duel_verdict(duel=duel, verdict=DuelVerdict.UNCHECKABLE, verification=trouble)


def duel_audit(duel: Duel) -> Audit:
    """Check a finished duel and keep the verdict. Raises PlatformFault when the arena no longer has its rules."""
    try:
        spec = rules(duel)
    except PlatformFault as fault:
        duel_verdict(duel=duel, verdict=DuelVerdict.UNCHECKABLE, verification=str(fault))
        raise
    try:
        with records_open(duel) as archive:
            record = archive.record()
            found = [*_archive_faults(archive, record), *_row_faults(duel, record)]
    except NotStored as missing:
        audit = Audit(None, [Mismatch(None, str(missing))])
    else:
        audit = Audit(record, [*found, *verify_record(spec, record, sha256=duel.record_sha256)])
    verdict = DuelVerdict.MISMATCH if audit.mismatches else DuelVerdict.VERIFIED
    duel_verdict(duel=duel, verdict=verdict, verification=_sentences(duel, audit))
    return audit


def play_again(duel: Duel, arena: Sandbox) -> DuelRecord:
    """Let the players of a duel play it again: same images, rules, seed and number of matches, today's limits.

    Raises SandboxError or referee.PlatformFault, also when an image is no longer on this host.
    """
    players = (duel.player_1, duel.player_2)
    # An image that is named by its digest is that image or none.
    images = [
        digest or player.image
        for digest, player in zip((duel.player_1_digest, duel.player_2_digest), players, strict=True)
    ]
    environment = duel.tournament.environment
    launches = itertools.count(1)
    # As a worker has one: what is left when this process is killed is removed by the others.
    presence = Presence(settings.CHANNEL_DIR)

    def launch(player: int) -> Container:
        return arena.launch(
            Launch(
                image=images[player],
                name=f"arena-{presence.token[:12]}-{next(launches)}",
                limits=environment.limits,
                labels={worker_label(): presence.token},
                core=core,
                fresh=players[player].needs_fresh_container,
            )
        )

    with contextlib.ExitStack() as stack:
        stack.callback(presence.end)
        core = stack.enter_context(free_core(settings.CHANNEL_DIR))
        arena.check()
        return referee.run_duel(
            rules(duel),
            launch,
            names=(str(players[0]), str(players[1])),
            seed=duel.seed,
            match_count=duel.match_count,
            parallel_matches=environment.parallel_matches,
            limits=environment.limits,
            clock=time.monotonic,
            one_core=core is not None,
        ).record


def _archive_faults(archive: DuelArchive, record: DuelRecord) -> Iterator[Mismatch]:
    """The summary and the index beside the matches, which pages show without reading them."""
    if archive.summary != record.summary:
        yield Mismatch(None, "The summary in the record's header is not that of its matches.")
    for listed, match in zip(archive.index, record.matches, strict=True):
        played = MatchSummary(
            match.number, match.outcome, match.fault, match.faulty_player, match.seats[0], len(match.actions)
        )
        if listed != played:
            yield Mismatch(match.number, "the index of the record lists it otherwise.")


def _row_faults(duel: Duel, record: DuelRecord) -> Iterator[Mismatch]:
    """What the duel's row and the ledger say otherwise than its record."""
    kept = {"seed": record.seed, "match_count": len(record.matches), **result_fields(record.summary)}
    for name, value in kept.items():
        if _rounded(getattr(duel, name)) != _rounded(value):
            yield Mismatch(None, f"The duel's row says {name} {getattr(duel, name)!r}, its record {value!r}.")
    entries = [
        sorted(tuple(_rounded(getattr(entry, name)) for name in ENTRY_FIELDS) for entry in group)
        for group in (ledger_entries(duel, record), duel.ledger_entries.all())
    ]
    if entries[0] != entries[1]:
        yield Mismatch(None, "The duel's entries in the ledger are not those that its record gives.")


def _rounded(value: Any) -> Any:
    # Versions of Python add floats up differently in the last digit.
    return round(value, 6) if isinstance(value, float) else value


def _sentences(duel: Duel, audit: Audit) -> str:
    if audit.mismatches:
        more = len(audit.mismatches) - SHOWN_MISMATCHES
        shown = [str(mismatch) for mismatch in audit.mismatches[:SHOWN_MISMATCHES]]
        return " ".join([*shown, f"And {more} more." if more > 0 else ""]).strip()
    kept = "Hash, result and ledger agree" if duel.record_sha256 else "Result and ledger agree; no hash was kept"
    return f"{duel.match_count} matches were simulated again: {CHECKED}. {kept}."
