"""Times results over one history, in a process with Django set up for its database. Needs Django and PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arena_kit.environment.records import Outcome
from benchmarks.results.at_once import finish_at_once
from benchmarks.results.chosen import chosen_measure
from benchmarks.results.history import fill, record_of
from benchmarks.results.told import OUTCOMES, is_correct, messages

if TYPE_CHECKING:
    from core.models import Duel, Tournament

WARM = 3
"""Number of untimed results at first, which load templates and prepare statements."""


class Measure:
    """The history of this process's database, and a running tournament of each kind."""

    def __init__(self, *, agents: int, rows: int) -> None:
        begun = time.monotonic()
        # This sets up Django, so it must come first.
        self._arena = fill(agents=agents, rows=rows)
        from core.jobs.messages import TOURNAMENT_TASK, task_run

        filled = time.monotonic()
        # Once over the whole history, as after an upgrade.
        task_run(TOURNAMENT_TASK, self._arena.environment.pk)
        self.about = {
            "fill_seconds": round(filled - begun, 1),
            "first_refresh_seconds": round(time.monotonic() - filled, 1),
        }
        self._begin = {"ladder": lambda: self._arena.ladder, "swiss": self._swiss, "edition": self._edition}
        self._tournaments: dict[str, Tournament] = {}

    def results(self, kind: str, count: int) -> list[dict[str, float]]:
        """Return the times of this many results in a tournament of this kind, without its first ones."""
        is_new = kind not in self._tournaments
        if is_new:
            self._tournaments[kind] = self._begin[kind]()
        found = [self._result(self._tournaments[kind]) for _ in range(count + WARM * is_new)]
        return found[-count:]

    def is_correct(self, kind: str) -> bool:
        return is_correct(self._tournaments[kind])

    def at_once(self, *, workers: int, seconds: float) -> dict[str, Any]:
        return finish_at_once(self._arena, self._tournaments["edition"], workers=workers, seconds=seconds)

    def chosen(self) -> dict[str, Any]:
        return chosen_measure(self._arena)

    def _result(self, tournament: Tournament) -> dict[str, float]:
        """Finish a duel and process everything that follows, until the page is correct."""
        from django.test import Client
        from django.urls import reverse

        from core.jobs.messages import message_do

        client = Client(headers={"host": "127.0.0.1"})
        path = reverse("web:edition", args=[self._arena.environment.slug, tournament.edition])
        duel = _claimed(tournament)
        with messages() as sent:
            finish = _ms(lambda: _finish(duel, OUTCOMES[duel.number % len(OUTCOMES)]))
        refresh = _ms(lambda: message_do("tournament"))
        page = _ms(lambda: _read(client, path))
        parts = {"finish_ms": finish, "refresh_ms": refresh, "page_ms": page}
        return {"result_ms": sum(parts.values()), **parts, "messages": len(sent)}

    def _edition(self) -> Tournament:
        """Start an edition of all pairs: one of chosen pairs waits for its results before it goes on."""
        from core.editions.services import start_now
        from core.models import Environment

        environment = Environment.objects.get(pk=self._arena.environment.pk)
        environment.all_pairs_up_to = len(self._arena.players)
        environment.save()
        return start_now(environment)

    def _swiss(self) -> Tournament:
        """Create a Swiss tournament of all agents, with its first round drawn, after the end of the ladder."""
        from django.utils import timezone

        from core.editions.progress import tournament_begin
        from core.jobs.messages import TOURNAMENT_TASK, task_run
        from core.models import Environment, Play, Tournament
        from core.tournaments.planning import tournament_plan

        environment = self._arena.environment
        Environment.objects.filter(pk=environment.pk).update(play=Play.NOTHING)
        task_run(TOURNAMENT_TASK, environment.pk)
        now = timezone.now()
        plan = Tournament(environment=environment, name="Cup", format="swiss", starts_at=now)
        return tournament_begin(tournament_plan(tournament=plan, now=now), now=timezone.now())


def _claimed(tournament: Tournament) -> Duel:
    """Claim the next waiting duel of a tournament."""
    from core.jobs.lifecycle import job_claim
    from core.models import Duel, JobState

    number = tournament.duels.filter(state=JobState.QUEUED).order_by("number").values_list("pk", flat=True).first()
    assert number is not None, f"{tournament} has no waiting duel left."
    duel = job_claim(kind=Duel, job_id=number, worker="worker-1")
    assert duel is not None
    return duel


def _finish(duel: Duel, outcome: Outcome) -> None:
    from core.duels.services import duel_succeed
    from core.jobs.artifacts import DuelArtifacts

    duel_succeed(duel=duel, record=record_of(duel, outcome), artifacts=DuelArtifacts(2, "", "", ""), log="")


def _read(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200, f"{path} answered {answer.status_code}."


def _ms(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)
