"""Which submissions have not played in an automatic tournament by today's rules before."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q

from core.models import CHOSEN, Environment, Participant, Submission, Tournament, TournamentState
from core.tournaments.rules import first_edition


def unplayed(environment: Environment, submissions: Sequence[Submission]) -> list[Submission]:
    """Return the submissions of an environment that have yet to play in an automatic tournament by today's rules.

    Editions of chosen pairs that were cancelled, or that a submission was taken out of, do not count.
    """
    played = _has_played(OuterRef("pk"), tournament__edition__gte=first_edition(environment))
    waiting = Submission.objects.filter(~played, pk__in=[row.pk for row in submissions])
    keys = set(waiting.values_list("pk", flat=True))
    return [row for row in submissions if row.pk in keys]


def _has_played(submission: OuterRef, **before: object) -> Exists:
    cut_short = Q(tournament__state=TournamentState.CANCELLED) | Q(withdrawn_at__isnull=False)
    rows = Participant.objects.filter(submission=submission, tournament__is_automatic=True, **before)
    return Exists(rows.exclude(cut_short, tournament__format=CHOSEN))


def newcomers(tournament: Tournament) -> set[int]:
    """Return the submissions for which an automatic tournament is the first one."""
    first = first_edition(tournament.environment)
    earlier = _has_played(OuterRef("submission"), tournament__edition__range=(first, tournament.edition - 1))
    return set(tournament.participants.filter(~earlier).values_list("submission", flat=True))
