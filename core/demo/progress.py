"""The demo's progress: counts from the rows, and the leaderboards as plain tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from core.evaluations.board import BoardFilter, board_page
from core.models import (
    Build,
    Duel,
    Environment,
    Evaluation,
    JobState,
    Participant,
    Tournament,
    TournamentState,
    Validation,
)

FINAL = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@dataclass(frozen=True, slots=True)
class DemoPart:
    """The number of finished jobs out of those known."""

    name: str
    done_count: int
    total_count: int

    def __str__(self) -> str:
        return f"{self.name} {self.done_count}/{self.total_count}"


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """The progress of all parts. is_complete: all builds are over, and every environment has a leaderboard."""

    phases: tuple[DemoPart, ...]
    editions: tuple[DemoPart, ...]
    evaluations: DemoPart
    matches_count: int
    failures: tuple[str, ...]
    is_complete: bool

    def __str__(self) -> str:
        phases = [str(part) for part in self.phases if part.done_count < part.total_count]
        duels = [", ".join(map(str, self.editions))] if self.editions else []
        played = [f"duels: {text}" for text in duels]
        evaluated = [str(self.evaluations)] if self.evaluations.total_count else []
        return " · ".join([*phases, *played, f"{self.matches_count} matches", *evaluated])


def measure(environments: Sequence[Environment]) -> DemoProgress:
    """Count the finished jobs of these environments."""
    within = Q(submission__agent__environment__in=environments)
    builds = Build.objects.filter(within).aggregate(done=Count("pk", filter=Q(state__in=FINAL)), total=Count("pk"))
    validations = Validation.objects.filter(within).aggregate(
        done=Count("pk", filter=Q(state__in=FINAL)), total=Count("pk")
    )
    phases = (
        DemoPart("built", builds["done"], builds["total"]),
        DemoPart("validated", validations["done"], validations["total"] + builds["total"] - builds["done"]),
    )
    editions = []
    finished = matches = 0
    for environment in environments:
        if environment.is_scored:
            continue
        edition = Tournament.objects.filter(environment=environment).order_by("-edition").first()
        if edition is None:
            continue
        duels = Duel.objects.filter(tournament=edition).aggregate(
            done=Count("pk", filter=Q(state__in=FINAL)), total=Count("pk"), matches=Sum("matches_done")
        )
        matches += duels["matches"] or 0
        editions.append(DemoPart(str(environment), duels["done"], duels["total"]))
        finished += edition_finished(environment) is not None
    scored = [environment for environment in environments if environment.is_scored]
    ranked = Evaluation.objects.filter(environment__in=scored).aggregate(
        done=Count("pk", filter=Q(state__in=FINAL)), total=Count("pk")
    )
    evaluations = DemoPart("evaluated", ranked["done"], ranked["total"])
    is_done = all(part.done_count == part.total_count for part in (*phases, evaluations))
    boards = Evaluation.objects.filter(environment__in=scored, is_current=True).values("environment").distinct().count()
    return DemoProgress(
        phases,
        tuple(editions),
        evaluations,
        matches,
        tuple(_failures(environments)),
        is_done and finished + boards == len(environments),
    )


def edition_finished(environment: Environment) -> Tournament | None:
    """Return the latest finished edition; None without one."""
    editions = Tournament.objects.filter(environment=environment, state=TournamentState.FINISHED)
    return editions.order_by("-edition").first()


def leaderboard(tournament: Tournament) -> str:
    """Return the standings as a plain text table."""
    header = ("rank", "agent", "points", "won", "drawn", "lost", "score")
    rows = [
        (
            str(row.rank),
            str(row.submission),
            str(row.points),
            str(row.wins),
            str(row.draws),
            str(row.losses),
            f"{row.total_score:g}",
        )
        for row in Participant.objects.filter(tournament=tournament).select_related("submission__agent")
    ]
    return _table(f"{tournament.environment}, edition {tournament.edition}", header, rows)


def score_board(environment: Environment) -> str:
    """Return the leaderboard of an environment that is ranked by score as a plain text table."""
    header = ("rank", "agent", "score", "from", "to", "steps/episode")
    rows = []
    for row in board_page(environment, BoardFilter()).rows:
        evaluation = Evaluation.objects.get(pk=row.evaluation_id)
        lengths = [length for _, _, length, _ in evaluation.episodes] or [0]
        rows.append(
            (
                str(row.rank),
                f"{row.agent} v{row.number}",
                *("" if value is None else f"{value:.2f}" for value in (row.score, row.score_low, row.score_high)),
                f"{sum(lengths) / len(lengths):.0f}",
            )
        )
    return _table(str(environment), header, rows)


def _table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [title]
    for row in [header, *rows]:
        cells = [
            text.ljust(width) if column == 1 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def _failures(environments: Sequence[Environment]) -> list[str]:
    failed = Q(state=JobState.FAILED, submission__agent__environment__in=environments)
    return [
        f"{job.KIND} of {job.submission} in {job.submission.agent.environment}: {job.error}"
        for model in (Build, Validation, Evaluation)
        for job in model._default_manager.filter(failed).select_related("submission__agent__environment")
    ]
