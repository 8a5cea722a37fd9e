"""An agent's blunders as its owner and organisers see them: the position, the moves, and which versions find them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Q, QuerySet

from arena_kit.analysis.blunders import Blunder as Position
from arena_kit.analysis.blunders import frame_at
from arena_kit.analysis.overlooked import wins_within
from arena_kit.analysis.sentences import moves_listed
from arena_kit.environment.protocol import ArenaEnvironmentError, UnknownEnvironment
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay_file.views import picture_of
from arena_kit.environment.svg import in_colours_of_players
from arena_kit.environment.words import move_in_words
from core.duels.blunders import has_open_information
from core.links import page, tournament_address
from core.models import Agent, Blunder, DrillMove, User
from core.people.rights import may
from core.tournaments.results import Viewer, withheld_from

DRAWN_SECONDS = 24 * 3600
LOOKED_AT = 200
"""How many of the newest blunders of a person are looked at for their notices."""


@dataclass(frozen=True, slots=True)
class BlunderShown:
    """A position as pages show it. picture: a data URL; empty without one. text: the board as text.

    found_by, missed_by: the numbers of versions that keep the value there, or do not.
    """

    row: Blunder
    sentence: str
    picture: str
    text: str
    found_by: tuple[int, ...] = ()
    missed_by: tuple[int, ...] = ()


def blunders_may_see(agent: Agent, viewer: Viewer) -> bool:
    """Return whether a person sees an agent's blunders: its owner and organisers who may view versions."""
    return agent.owner_id == viewer.pk or may(viewer, "core.view_submission")


def blunders_visible(agent: Agent, viewer: Viewer) -> QuerySet[Blunder]:
    """Return the blunders of an agent that a person may see, newest first: none of matches whose results are withheld,
    and none where seats do not see the same."""
    if not blunders_may_see(agent, viewer) or not _is_open(agent.environment.spec_id):
        return Blunder.objects.none()
    return _rows().filter(agent=agent).exclude(duel__tournament__in=withheld_from(viewer))


def blunders_shown(rows: Collection[Blunder]) -> list[BlunderShown]:
    """Return blunders with their boards and the versions that were asked, with one query."""
    moves = DrillMove.objects.filter(blunder__in=rows).exclude(is_found=None).order_by("submission__number")
    answers = list(moves.values_list("blunder", "submission__number", "is_found"))
    shown = []
    for row in rows:
        found = tuple(number for key, number, is_found in answers if key == row.pk and is_found)
        missed = {number for key, number, is_found in answers if key == row.pk and not is_found}
        shown.append(BlunderShown(row, *_drawn(row), found, tuple(sorted(missed | {row.submission.number}))))
    return shown


def drill_scores(rows: QuerySet[Blunder]) -> list[tuple[int, int, int]]:
    """Return number, positions found and positions asked of each version that was drilled, the newest first."""
    moves = DrillMove.objects.filter(blunder__in=rows.order_by().values("pk")).exclude(is_found=None)
    counted = moves.order_by("-submission__number").values_list("submission__number")
    return list(counted.annotate(found=Count("pk", filter=Q(is_found=True)), asked=Count("pk")))


def blunders_by_page(user: User, addresses: Collection[str]) -> dict[str, BlunderShown]:
    """Return the worst blunder of a person's agents in each tournament or challenge that has one of these pages."""
    if not addresses:
        return {}
    of_event = Q(duel__tournament__isnull=False) | Q(duel__challenge__isnull=False)
    rows = _rows().filter(of_event, agent__owner=user).exclude(duel__tournament__in=withheld_from(user))
    worst: dict[str, Blunder] = {}
    for row in rows[:LOOKED_AT]:
        address = _event(row)
        before = worst.get(address)
        if address in addresses and (before is None or row.given > before.given):
            worst[address] = row
    drawn = blunders_shown([row for row in worst.values() if _is_open(row.environment_version)])
    return {_event(one.row): one for one in drawn}


def _rows() -> QuerySet[Blunder]:
    players = ("duel__player_1__agent", "duel__player_2__agent", "duel__tournament__environment")
    return Blunder.objects.select_related("submission__agent", "agent__environment", *players).order_by("-pk")


def _event(row: Blunder) -> str:
    """Return the page of the tournament or challenge in which a blunder was played; empty for another duel."""
    if row.duel.tournament is not None:
        return tournament_address(row.duel.tournament)
    return page("challenge", row.duel.challenge_id) if row.duel.challenge_id is not None else ""


def _is_open(rules: str) -> bool:
    try:
        return has_open_information(get_spec(rules))
    except UnknownEnvironment:
        return False


def _drawn(row: Blunder) -> tuple[str, str, str]:
    """Return the sentence, the picture and the text of a position. What is drawn is kept: a match is played for it."""
    key = f"blunder-{row.pk}-{row.key}"
    kept = cache.get(key)
    if kept is None and (kept := _draw(row)) is not None:
        cache.set(key, kept, timeout=DRAWN_SECONDS)
    if kept is None:
        return f"{row.submission} made a mistake here. The board cannot be drawn now.", "", ""
    played, held, picture, text = kept
    return _sentence(row, played, held), picture, text


def _draw(row: Blunder) -> list[str] | None:
    """Return the words of the move, those of the better ones, picture and text; None where the rules fail or are
    gone."""
    player = 0 if row.duel.player_1_id == row.submission_id else 1
    seats = (player, 1 - player) if row.seat == 0 else (1 - player, player)
    try:
        spec = get_spec(row.environment_version)
        frame, text = frame_at(spec, Position.of(row))
        held = moves_listed([move_in_words(spec, frame, action) for action in row.holding]) if row.holding else ""
        picture = picture_of(in_colours_of_players(spec.render(frame), seats))
        return [move_in_words(spec, frame, row.played), held, picture, text]
    except (ArenaEnvironmentError, LookupError, TypeError, ValueError):
        return None


def _sentence(row: Blunder, played: str, held: str) -> str:
    """Return what was played and what would have held."""
    if row.steps is not None:
        let = f"{row.submission} played {played}, which let the other side {wins_within(row.steps)}."
        return f"{let} It would have prevented that with {held}."
    if not held:
        return (
            f"{row.submission} played {played}. When the position was played out, its side won {row.before:.0%} of the "
            f"matches, and {row.after:.0%} a few moves later."
        )
    gave = {
        (1.0, 0.5): "which gave away a forced win",
        (1.0, 0.0): "which turned a forced win into a forced loss",
    }.get((row.before or 0.0, row.after), "after which the other side can force a win")
    kept = "the win" if row.before == 1.0 else "the draw"
    return f"{row.submission} played {played}, {gave}. It would have kept {kept} with {held}."
