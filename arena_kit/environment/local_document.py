"""The duel document of a duel that was played at home: the classic one, with the records that it was made from.

The site keeps records in a file of their own; at home one file is easier to keep, and a replay needs more than frames.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from arena_kit.environment.adapters.classic.document import classic_document
from arena_kit.environment.record_archive import ArtifactDamaged, match_line, match_read
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.spec import EnvironmentSpec


def local_document(spec: EnvironmentSpec, record: DuelRecord, error: str = "", *, sandbox: str = "") -> Iterator[str]:
    """Yield the document as pieces of JSON text; its key `check` has the records, without times and tracebacks.

    sandbox: the name of what the players ran in; "" if it is not known.
    """
    untimed = (
        replace(
            match,
            error=match.error.partition("\n")[0],
            thinking_seconds=(0.0, 0.0),
            slowest_move_seconds=(0.0, 0.0),
            cpu_seconds=(0.0, 0.0),
            move_ms=None,
        )
        for match in record.matches
    )
    check = {
        "environment": record.environment,
        "seed": record.seed,
        "sandbox": sandbox,
        "players": list(record.players),
        "records": [json.loads(match_line(match)) for match in untimed],
    }
    return classic_document(spec, record, error, check=check)


def local_record(text: str) -> DuelRecord:
    """Return the record of a duel from such a document. Raises ArtifactDamaged."""
    try:
        check: dict[str, Any] = json.loads(text)["check"]
        first, second = map(str, check["players"])
        lines = [json.dumps(match) for match in check["records"]]
        environment, seed = str(check["environment"]), int(check["seed"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise ArtifactDamaged(
            "This file has no records of matches: a replay needs what `arena play --output` writes, "
            "or the records of a duel or an evaluation."
        ) from None
    matches = tuple(match_read(line, number) for number, line in enumerate(lines, start=1))
    return DuelRecord(environment, seed, (first, second), matches)
