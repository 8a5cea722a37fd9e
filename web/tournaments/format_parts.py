"""Formats of tournaments in words."""

from __future__ import annotations

from arena_kit.ranking.formats import FORMATS, format_make, settings_of
from arena_kit.ranking.sequential import SequentialTest
from core.models import Seeding, Tournament


def settings_words(tournament: Tournament) -> list[tuple[str, str]]:
    """Name and value, in words, of every setting that the tournament has been given."""
    given = tournament.settings
    most = "at most " if given.get("stops_early") else ""
    words = []
    for name, value in given.items():
        if name == "pairs":
            words.append(("Matches per meeting", f"{most}{2 * value}"))
        elif name == "rounds" and value is not None:
            words.append(("Rounds", str(value)))
        elif name == "episodes":
            words.append(("Episodes", str(value)))
        elif name == "legs":
            words.append(("Meetings of each pair", "one" if value == 1 else "two, with seats swapped"))
        elif name == "groups":
            words.append(("Groups", str(value)))
        elif name == "advance":
            words.append(("Qualify from each group", str(value)))
        elif name == "cut_by_seed":
            words.append(("A tie at the cut", "goes to the better seed" if value else "is played out"))
        elif name == "third_place":
            words.append(("Third place", "played for" if value else "shared"))
        elif name == "extensions":
            further = 2 * given.get("extension_pairs", 0)
            more = f"{most}{further} more matches" if further else "more matches"
            more += ", once," if value == 1 else f", up to {value} times,"
            words.append(("After a tie", f"{more} then the better seed wins" if value else "the better seed wins"))
    return words


def seeding_words(tournament: Tournament) -> str:
    """Return how its participants are seeded; empty by rating, as always."""
    if tournament.seeded_by == Seeding.DRAWN:
        seed = tournament.draw_seed
        return "drawn when it begins" if seed is None else f"drawn from {seed}"
    return "by its organisers" if tournament.seeded_by == Seeding.BY_HAND else ""


def stopping_words(tournament: Tournament, test: SequentialTest | None) -> str:
    """Return a sentence on duels that end early, with the bounds of the test; empty if none of them may."""
    if test is None:
        return ""
    words = (
        f"A duel ends early as soon as a sequential test between −{test.elo1:g} and +{test.elo1:g} {test.scale} "
        f"(α = β = {100 * test.alpha:g}%) has decided which of the two is stronger; otherwise all its matches are "
        "played. The agent that leads at the end wins the duel."
    )
    if "legs" in {setting.name for setting in settings_of(FORMATS[tournament.format])}:
        words += " The table adds up the score per match of every meeting instead of the total score."
    return words


def round_count(tournament: Tournament, participant_count: int, drawn: int) -> int:
    """How many rounds there will be. drawn: the last round that the plan has so far."""
    return format_make(tournament.format, tournament.settings).round_count(participant_count, drawn)
