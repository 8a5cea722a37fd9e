"""When a submission that has not played will play in an edition."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from core.models import Build, Environment, JobState, Participant, Play, Submission, TournamentState
from core.tournaments.fields import active_field


def edition_expected(environment: Environment) -> bool:
    """Return whether a submission waits for its first edition and has an opponent there."""
    if environment.closed_because or environment.play == Play.NOTHING:
        return False
    # Every visitor's page needs it, and mostly nothing is found: this query costs far less than the field.
    owners = set(_unplayed(environment).values_list("agent__owner", flat=True))
    if not owners or not any(_is_fresh(row) for row in active_field(environment, owners=owners).playing):
        return False
    return Submission.objects.active().filter(agent__environment=environment).values("agent").distinct().count() > 1


def edition_outlook(environment: Environment) -> str:
    """Return a sentence about when a valid submission that has not played will play."""
    if environment.closed_because:
        return environment.closed_because
    if environment.play == Play.NOTHING:
        return "It takes part in tournaments that organisers start; there are no automatic ones here at the moment."
    running = environment.tournaments.filter(state=TournamentState.RUNNING, is_automatic=True).first()
    if running is not None:
        return f"It takes part in the next edition, which starts after edition {running.edition}."
    if Submission.objects.active().filter(agent__environment=environment).values("agent").distinct().count() < 2:
        return "It takes part in the first edition that starts once a second agent is ready."
    return "It takes part in the next edition, which starts within minutes."


def _is_fresh(submission: Submission) -> bool:
    return not submission.participations.exists()


def _unplayed(environment: Environment) -> QuerySet[Submission]:
    """Return versions that were built and have not played, where no newer version of their agent has."""
    built = Build.objects.filter(submission=OuterRef("pk"), state=JobState.SUCCEEDED)
    played = Exists(Participant.objects.filter(submission=OuterRef("pk")))
    newer = Submission.objects.filter(played, agent=OuterRef("agent"), number__gt=OuterRef("number"), deleted_at=None)
    rows = Submission.objects.filter(agent__environment=environment, is_benched=False, deleted_at=None)
    return rows.filter(~played, Exists(built), ~Exists(newer))
