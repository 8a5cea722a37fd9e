"""Recompute standings and ratings from the ledger, or show a leaderboard as of a date."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.editions.fits import compute, ratings_refresh
from core.editions.follow import rebuild
from core.editions.history import history_refresh
from core.editions.progress import standings_refresh
from core.editions.sums import DIGITS
from core.models import Environment, Rating, Submission, Tournament, TournamentState
from core.moments import parse_moment
from core.ratings.history import leaderboard_as_of


class Command(BaseCommand):
    help = (
        "Recompute the tables of every edition, all ratings and their history from the ledger, e.g. after their rules "
        "changed, and say how much differed. With --as-of, change nothing and print the ratings of a date."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--environment", metavar="SLUG", help="Of this environment alone.")
        parser.add_argument("--skip-history", action="store_true", help="Leave ratings of the past as they are.")
        parser.add_argument(
            "--as-of", metavar="DATE", help="A day (its end) or a moment in UTC: 2026-05-31 or 2026-05-31T18:30."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Environments with one seat are ranked by score: the ledger holds none of their results.
        environments = Environment.objects.filter(seats__gt=1)
        if options["environment"]:
            environments = environments.filter(slug=options["environment"])
            if not environments:
                raise CommandError(f"There is no environment {options['environment']!r} that is ranked by duels.")
        try:
            moment = None if options["as_of"] is None else parse_moment(options["as_of"])
        except ValueError as error:
            raise CommandError(str(error)) from None
        for environment in environments:
            if moment is None:
                self._rebuild(environment, with_history=not options["skip_history"])
            else:
                self._show(environment, moment)

    def _rebuild(self, environment: Environment, *, with_history: bool) -> None:
        tournaments = environment.tournaments.exclude(state=TournamentState.PLANNED).order_by("edition")
        rows = sum(_standings_rebuild(tournament) for tournament in tournaments)
        rebuild(environment)
        ratings = ratings_refresh(environment)
        points = history_refresh(environment) if with_history else 0
        found = f"{environment}: {_counted(len(tournaments), 'edition')} recomputed; {_counted(rows, 'row')} of tables"
        if with_history:
            self.stdout.write(
                f"{found}, {_counted(ratings, 'rating')} and {_counted(points, 'rating')} of the past differed"
            )
        else:
            self.stdout.write(f"{found} and {_counted(ratings, 'rating')} differed")

    def _show(self, environment: Environment, moment: datetime) -> None:
        found = compute(environment, at=moment)
        ranked = sorted((row for row in found.ratings if row.rank), key=lambda row: (row.rank or 0, row.submission_id))
        title = f"{environment} as of {moment:%Y-%m-%d %H:%M:%S} UTC"
        if not ranked:
            self.stdout.write(f"{title}: nothing had been played.")
            return
        kept = leaderboard_as_of(environment, moment)
        values = {point.submission_id: point.value for point in kept.points} if kept else {}
        names = Submission.objects.select_related("agent").in_bulk({row.submission_id for row in ranked} | {*values})
        self.stdout.write(f"{title}: {_counted(len(ranked), 'agent')}, {_counted(found.pool.duel_count, 'duel')}")
        self.stdout.write(f"{'rank':>4} {'rating':>6} {'95% interval':>14} {'kept':>6}  agent")
        for row in ranked:
            self.stdout.write(_line(row, values.get(row.submission_id), str(names[row.submission_id])))
        self._compare(kept.at if kept else None, values, ranked, names)

    def _compare(
        self, at: datetime | None, values: dict[int, float], ranked: list[Rating], names: dict[int, Submission]
    ) -> None:
        if at is None:
            self.stdout.write("No leaderboard was kept by then: pages show none for this date.")
            return
        differing = sum(round(values.get(row.submission_id, -1), DIGITS) != row.value for row in ranked)
        gone = [str(names[key]) for key in sorted(values.keys() - {row.submission_id for row in ranked})]
        said = f"Pages show what was kept at {at:%Y-%m-%d %H:%M:%S} UTC: {_counted(differing, 'rating')} differed"
        self.stdout.write(f"{said}; kept, but not ranked here: {', '.join(gone)}" if gone else said)


def _standings_rebuild(tournament: Tournament) -> int:
    """Compute the table of one tournament anew, by its format; return how many rows of it differed."""
    return standings_refresh(tournament)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _line(row: Rating, kept: float | None, name: str) -> str:
    same = kept is not None and round(kept, DIGITS) == row.value
    shown = "–" if kept is None else f"{kept:.0f}"
    interval = f"{row.low:.0f} to {row.high:.0f}"
    return f"{row.rank:>4} {row.value:>6.0f} {interval:>14} {shown:>6}  {name}{'' if same else '  (differs)'}"
