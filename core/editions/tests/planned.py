"""Tournaments of organisers, played without players."""

from __future__ import annotations

from core.editions.progress import tournament_begin, tournament_step
from core.editions.tests.samples import LATER, play
from core.models import Duel, JobState, Participant, Submission, Tournament, TournamentState


def planned(submissions: list[Submission], kind: str = "swiss", **settings: object) -> Tournament:
    """A planned tournament in the environment of these."""
    environment = submissions[0].agent.environment
    return Tournament.objects.create(
        environment=environment,
        edition=environment.tournaments.count() + 1,
        name="Cup",
        state=TournamentState.PLANNED,
        is_automatic=False,
        format=kind,
        settings=settings,
        seed=7,
        started_at=None,
    )


def begun(submissions: list[Submission], kind: str = "swiss", **settings: object) -> Tournament:
    return tournament_begin(planned(submissions, kind, **settings), now=LATER)


def play_on(tournament: Tournament, *, until: int = 99) -> None:
    """Play to the end, or until a round with this number has been drawn; who was uploaded first wins."""
    for _ in range(20):
        tournament_step(tournament, now=LATER)
        opened = tournament.duels.filter(state=JobState.QUEUED)
        if tournament.state != TournamentState.RUNNING or opened.filter(round__gte=until).exists():
            return
        for duel in opened.order_by("number"):
            play(duel)
    raise AssertionError(f"{tournament} goes on and on.")


def rows_of(tournament: Tournament) -> list[object]:
    """All that a step writes."""
    found = (
        Tournament.objects.filter(pk=tournament.pk),
        Participant.objects.filter(tournament=tournament),
        Duel.objects.filter(tournament=tournament),
    )
    return [list(rows.order_by("pk").values()) for rows in found]


def ranks(tournament: Tournament) -> dict[int, int]:
    return dict(tournament.participants.values_list("submission", "rank"))


def drawn(tournament: Tournament, number: int) -> set[frozenset[int]]:
    """Who meets whom in a round, by duels that count."""
    duels = tournament.duels.filter(round=number, void=None).exclude(state=JobState.CANCELLED)
    return {frozenset(pair) for pair in duels.values_list("player_1", "player_2")}
