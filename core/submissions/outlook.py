"""When a submission that has not played will play in an edition."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from core.models import Environment, JobState, Play, Submission, TournamentState


def edition_expected(environment: Environment) -> bool:
    """Return whether a submission waits for its first edition and has an opponent there."""
    if environment.closed_because or environment.play == Play.NOTHING or not _is_any_unplayed(environment):
        return False
    valid = Submission.objects.active().filter(agent__environment=environment)
    newer = valid.filter(agent=OuterRef("agent"), number__gt=OuterRef("number"))
    fresh = valid.filter(~Exists(newer), participations=None)
    return fresh.exists() and valid.values("agent").distinct().count() > 1


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


def _is_any_unplayed(environment: Environment) -> bool:
    """Return whether a version was built that has not played, and no newer version of its agent has.

    Every visitor's page calls it, and the answer is mostly no: this check costs far less than finding valid versions.
    """
    built = Submission.objects.filter(
        agent__environment=environment, is_benched=False, builds__state=JobState.SUCCEEDED
    )
    newer = Submission.objects.filter(
        agent=OuterRef("agent"), number__gt=OuterRef("number"), participations__isnull=False, deleted_at=None
    )
    return built.filter(~Exists(newer), participations=None, deleted_at=None).exists()
