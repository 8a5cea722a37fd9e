"""`arena recheck`: check downloaded records of a duel or an evaluation by playing them again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from arena_kit.cli.common import print_json, run_command
from arena_kit.cli.environments import add_folder_option, use_own_environments
from arena_kit.environment.episodes import EvaluationArchive, evaluation_sha256, holds_evaluation
from arena_kit.environment.protocol import ArenaEnvironmentError
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive
from arena_kit.environment.records import record_sha256
from arena_kit.environment.registry import get_spec
from arena_kit.referee.recheck import duels, evaluations
from arena_kit.referee.recheck.mismatch import CannotCheck, Mismatch
from arena_kit.text import plain_text

VERIFIED, MISMATCH, NOT_CHECKED = 0, 1, 2
DOCUMENTS = (b"{", b"\x1f\x8b")
"""How documents of a duel or a replay begin, plain or packed with gzip; people confuse them with the records."""


@dataclass(frozen=True, slots=True)
class RecheckOfFile:
    """The outcome of a check. head: what the file holds, in one line. checked: what was compared, in words."""

    mismatches: list[Mismatch]
    head: str
    checked: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Check downloaded records. Returns 0 if they verify, 1 if they do not, 2 if they cannot be checked."""
    return run_command(_parser(), arguments, lambda options, _: _recheck(options))


def _recheck(options: argparse.Namespace) -> int:
    try:
        use_own_environments(options)
        with options.records.open("rb") as file:
            if file.peek(2).startswith(DOCUMENTS):
                raise CannotCheck(
                    f"{options.records} is a document with states. To check a result, download its records, a zip."
                )
            if holds_evaluation(file):
                check = _evaluation(file, options.sha256, options.seeds_sha256)
            else:
                check = _duel(file, options.sha256)
    except (OSError, ArtifactDamaged, ArenaEnvironmentError, CannotCheck) as error:
        found = isinstance(error, OSError) and error.strerror
        sentence = plain_text(f"{options.records} cannot be read: {found}." if found else str(error))
        print(f"arena: {sentence}", file=sys.stderr)
        if options.json:
            print_json({"verifies": None, "code": "cannot_check", "error": sentence, "mismatches": []})
        return NOT_CHECKED
    if options.json:
        print_json(
            {"verifies": not check.mismatches, "record": check.head, "mismatches": list(map(str, check.mismatches))}
        )
        return MISMATCH if check.mismatches else VERIFIED
    for mismatch in check.mismatches:
        # A record may hold control sequences for terminals.
        print(plain_text(str(mismatch)))
    print(check.head)
    print("The record does not verify." if check.mismatches else f"The record verifies: {check.checked}.")
    return MISMATCH if check.mismatches else VERIFIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="arena recheck",
        description="Check the records of a duel or of an evaluation by playing them again.",
        epilog="Exit code: 0 they verify, 1 they do not, 2 they cannot be checked here.",
    )
    parser.add_argument("records", type=Path, help="the records, as downloaded from the site")
    parser.add_argument("--sha256", default="", help="the hash of the play, from the page of the result")
    parser.add_argument(
        "--seeds-sha256", default="", metavar="SHA256", help="the hash of the seeds, from the page of the evaluation"
    )
    add_folder_option(parser)
    return parser


def _duel(file: IO[bytes], sha256: str) -> RecheckOfFile:
    record = DuelArchive(file).record()
    found = duels.recheck_record(get_spec(record.environment), record, sha256=sha256)
    head = f"{record.environment}, seed {record.seed}, {len(record.matches)} matches, sha256 {record_sha256(record)}"
    return RecheckOfFile(found, head, duels.CHECKED)


def _evaluation(file: IO[bytes], sha256: str, sha256_of_seeds: str) -> RecheckOfFile:
    record = EvaluationArchive(file).record()
    spec = get_spec(record.environment)
    found = evaluations.recheck_evaluation(spec, record, sha256=sha256, sha256_of_seeds=sha256_of_seeds)
    count = len(record.episodes)
    mean = sum(episode.score for episode in record.episodes) / max(1, count)
    head = f"{record.environment}, {count} episodes, mean score {mean:g}, sha256 {evaluation_sha256(record)}"
    return RecheckOfFile(found, head, evaluations.CHECKED)
