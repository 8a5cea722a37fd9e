"""Fair lines between owners and between environments: a flow with much work waits behind those with little.

Every job belongs to a flow: that of the owner who waits for it, that of an owner's promotions, that of the caller of a
run, or that of its tournament. A job that is put in line gets a turn, a whole number. The jobs of a flow get
consecutive turns, beginning with the highest turn that was ever begun (less the turns of its priority), so a new flow
is served in the next round, however many jobs another flow has in line. This is start-time fair queueing (Goyal, Vin
and Cheng, 1996) with jobs of equal length. Within a turn environments go in rounds: first one job of each, then the
second of each. A step of priority is worth a fixed number of turns, so a job is overtaken by a bounded number of
others, and no job starves.

Turn, priority and the round of its environment make a job's sort key. Workers take the job with the lowest
(sort_key, id). A job that was begun before and waits again goes first. The place of a job is counted over an index, so
it is exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import F, Max, QuerySet
from django.db.models.expressions import CombinedExpression

from core.jobs.lines import of_line
from core.models import Duel, Environment, Job, JobState, Rollout, User

HEAVY = "is_heavy"
"""The field of jobs that stand in a line of their own if their environment is heavy."""
FIRST = 1
"""The lowest turn."""
FRONT = -(2**40)
"""The sort key of jobs that were begun before and wait again."""
LAST = 2**40
"""Added to the sort key of jobs that are taken only when no other one waits."""
TURNS_PER_PRIORITY = 25
"""How many turns earlier a job is taken for each step of its priority; later for negative steps."""
_ROUNDS = 1024
"""The number of rounds in a turn; further jobs of one environment share the last round."""


def line_up(*, job: Job) -> None:
    """Give a job that is put in line its line, flow, turn and sort key."""
    flow, environment, is_heavy = _flow(job)
    lines = {HEAVY: is_heavy} if HEAVY in job.LINES else {}
    for name, value in lines.items():
        setattr(job, name, value)
    rows = _line(job)
    turn = _next_turn(rows, flow)
    waiting = rows.filter(
        state=JobState.QUEUED, not_before=None, sort_key__gte=sort_key_of(turn), sort_key__lt=sort_key_of(turn + 1)
    )
    before = waiting.filter(**{job.ENVIRONMENT: environment}).exclude(pk=job.pk).count()
    job.flow, job.turn, job.sort_key = flow, turn, sort_key_of(turn, before, job.priority)
    fields = {"flow": job.flow, "turn": job.turn, "sort_key": job.sort_key}
    type(job)._base_manager.filter(pk=job.pk).update(**fields, **lines)


def duels_line_up(*, duels: Sequence[Duel]) -> None:
    """Like `line_up`, for unsaved new duels of one flow and environment, in their order, with two queries for all."""
    agent = duels[0].player_1.agent
    flow, is_heavy = _flow_name(duels[0], agent.owner_id), agent.environment.is_heavy
    rows = of_line(Duel.objects.order_by(), {HEAVY: is_heavy})
    first = _next_turn(rows, flow)
    waiting = rows.filter(state=JobState.QUEUED, turn__gte=first, **{Duel.ENVIRONMENT: agent.environment_id})
    before = Counter(waiting.values_list("turn", flat=True))
    for turn, duel in enumerate(duels, start=first):
        duel.flow, duel.turn, duel.sort_key = flow, turn, sort_key_of(turn, before[turn], duel.priority)
        duel.is_heavy = is_heavy


def rollouts_turn(*, owner: User, environment: Environment, rollouts: Sequence[Rollout], is_last: bool = False) -> None:
    """Like `line_up`, for unsaved new rollouts of one owner in one application, in their order, with two queries.

    is_last: they are taken when no other rollout waits, and share no turns with those that their owner asks for.
    """
    rows = Rollout.objects.order_by()
    flow = f"tests of owner {owner.pk}" if is_last else _flow_of_owner(owner.pk)
    first = _next_turn(rows, flow)
    waiting = rows.filter(state=JobState.QUEUED, turn__gte=first, environment=environment)
    before = Counter(waiting.values_list("turn", flat=True))
    for turn, rollout in enumerate(rollouts, start=first):
        rollout.flow, rollout.turn = flow, turn
        rollout.sort_key = sort_key_of(turn, before[turn], rollout.priority) + (LAST if is_last else 0)


def sort_key_of(turn: int, jobs_before: int = 0, priority: int = 0) -> int:
    """Return the sort key of a job. jobs_before: the number of jobs of its environment that wait in its turn."""
    return (turn - TURNS_PER_PRIORITY * priority) * _ROUNDS + min(jobs_before, _ROUNDS - 1)


def turn_begun() -> CombinedExpression:
    """Return the turn in which a job is served: one that was moved forward does not move the turns of others on."""
    return F("turn") - TURNS_PER_PRIORITY * F("priority")


def priority_write(*, rows: QuerySet[Job], priority: int) -> int:
    """Give waiting jobs a priority and move them in their lines; return how many were moved.

    Jobs that were begun before stay in front.
    """
    step = TURNS_PER_PRIORITY * _ROUNDS
    waiting = rows.filter(state=JobState.QUEUED).exclude(sort_key=FRONT)
    return waiting.update(sort_key=F("sort_key") + (F("priority") - priority) * step, priority=priority)


def _line(job: Job) -> QuerySet[Job]:
    """Return the jobs that are or were in a job's line: lines move at different speeds, so each has its own turns."""
    return of_line(type(job)._base_manager.order_by(), {name: getattr(job, name) for name in job.LINES})


def _flow(job: Job) -> tuple[str, int, bool]:
    """Return a job's flow, the key of its environment, and whether that is heavy."""
    paths = (job.OWNER, job.ENVIRONMENT, f"{job.ENVIRONMENT}__is_heavy")
    owner, *environment = type(job)._base_manager.values_list(*paths).get(pk=job.pk)
    return _flow_name(job, owner), *environment


def _flow_name(job: Job, owner: int) -> str:
    if isinstance(job, Duel) and job.tournament_id is not None:
        return _flow_of_tournament(job.tournament_id)
    if isinstance(job, Duel) and job.promotion_id is not None:
        # Not behind the challenges that the owner has asked for.
        return f"promotions of owner {owner}"
    if isinstance(job, Duel) and job.challenge is not None and job.opening is not None:
        # The person who asked may own neither agent.
        return _flow_of_owner(job.challenge.user_id)
    if isinstance(job, Duel) and job.run is not None:
        # A caller's programs wait behind one another, also when their agents have different owners.
        return f"runs of caller {job.run.caller_id}"
    return _flow_of_owner(owner)


def _flow_of_owner(owner: int) -> str:
    return f"owner {owner}"


def _flow_of_tournament(tournament_id: int) -> str:
    return f"tournament {tournament_id}"


def _next_turn(rows: QuerySet[Job], flow: str) -> int:
    """Return the turn of a flow's next job."""
    begun = rows.filter(begun_turn__gt=FIRST).aggregate(turn=Max("begun_turn"))["turn"] or FIRST
    # A job that was cancelled before it began has cost no time.
    served = rows.filter(flow=flow).exclude(state=JobState.CANCELLED, attempt=0).order_by("-turn")
    last = served.values_list("turn", flat=True).first() or 0
    return max(begun, last + 1)
