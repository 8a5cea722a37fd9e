"""`arena replay FILE`: show a match that was played here, or write its replay as a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena_kit.cli.common import DONE, BadArgument, tell
from arena_kit.cli.environments import use_own_environments
from arena_kit.cli.output import content_write
from arena_kit.environment.adapters.classic.html import can_clean
from arena_kit.environment.episodes import EvaluationArchive, holds_evaluation
from arena_kit.environment.local_document import local_record
from arena_kit.environment.record_archive import ArtifactDamaged, DuelArchive
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.document import (
    EVERYTHING,
    ReplayOptions,
    document_bytes,
    replay_document,
)
from arena_kit.environment.replay_file.facts import Played, ReplayAgent, ReplayFacts
from arena_kit.environment.replay_file.page import replay_page
from arena_kit.environment.replay_file.views import frame_views
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.text import plain_text

MAX_DOCUMENT_BYTES = 1 << 30
ZIP = b"PK\x03\x04"
NO_PICTURES = (
    "The page shows each state as JSON. For what the environment draws, install the package nh3 "
    "(the extra `classic` of arena-kit), and write it again."
)


@dataclass(frozen=True, slots=True)
class LocalReplay:
    """A match or an episode with what is needed to replay it."""

    spec: EnvironmentSpec
    record: Played
    facts: ReplayFacts


def replay_local(options: argparse.Namespace, wanted: ReplayOptions) -> int:
    """Show or write a match of a file. Raises BadArgument and ArenaEnvironmentError."""
    use_own_environments(options)
    replay = read_replay(Path(options.what), options.match or 1)
    write_replay(replay, html=options.html, document=options.document, options=wanted)
    if options.json:
        sys.stdout.write(document_bytes(replay_document(replay.spec, replay.record, replay.facts, wanted)).decode())
    elif options.html is None and options.document is None:
        sys.stdout.write(in_words(replay))
    return DONE


def read_replay(file: Path, number: int) -> LocalReplay:
    """Read a match, or an episode of an evaluation, from a file. Raises BadArgument and ArenaEnvironmentError.

    file: what `arena play --output` or `arena evaluate --records` writes, or records downloaded from a site.
    """
    try:
        with file.open("rb") as opened:
            is_zip = opened.read(len(ZIP)) == ZIP
            opened.seek(0)
            if is_zip and holds_evaluation(opened):
                evaluation = EvaluationArchive(opened)
                episode = evaluation.episode(number)
                return _replay(file, evaluation.environment, episode, (evaluation.player,))
            if is_zip:
                duel = DuelArchive(opened)
                return _replay(file, duel.environment, duel.match(number), duel.players)
            text = opened.read(MAX_DOCUMENT_BYTES).decode("utf-8", "replace")
        record = local_record(text)
        if number > len(record.matches):
            raise BadArgument(f"{file} has matches 1 to {len(record.matches)}; there is no match {number}.")
        return _replay(file, record.environment, record.matches[number - 1], record.players)
    except OSError as error:
        raise BadArgument(f"{file} cannot be read: {error.strerror}.") from None
    except LookupError as error:
        raise BadArgument(f"{file}: {error.args[0]}") from None
    except ArtifactDamaged as error:
        raise BadArgument(f"{file}: {error}") from None


def write_replay(
    replay: LocalReplay, *, html: Path | None = None, document: Path | None = None, options: ReplayOptions = EVERYTHING
) -> None:
    """Write a replay as a page, as a JSON document, or both. A name that ends in .gz is compressed.

    Raises BadArgument, and NotDrawable if the record does not fit its rules.
    """
    if html is not None:
        if replay.spec.classic is not None and not can_clean():
            tell(NO_PICTURES)
        content_write(html, lambda: replay_page(replay.spec, replay.record, replay.facts).encode())
    if document is not None:
        compress = document.suffix == ".gz"
        content_write(
            document,
            lambda: document_bytes(
                replay_document(replay.spec, replay.record, replay.facts, options), compress=compress
            ),
        )


def in_words(replay: LocalReplay) -> str:
    """Return every state of a replay as text for a terminal."""
    views = frame_views(replay.spec, replay.record, replay.facts.names)
    # A record may hold control sequences for terminals.
    return plain_text("\n".join(f"{view.ply}. {view.caption}\n{view.text}\n" for view in views))


def _replay(file: Path, environment: str, record: Played, players: Sequence[str]) -> LocalReplay:
    agents = tuple(ReplayAgent(name, name) for name in players)
    return LocalReplay(get_spec(environment), record, ReplayFacts(f"{file.stem}-{record.number}", agents))
