"""Times results over one history, in the process that has Django set up for it. Needs Django and PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arena_kit.environment.records import Outcome
from benchmarks.results.at_once import finish_at_once
from benchmarks.results.history import fill, record_of
from benchmarks.results.told import OUTCOMES, is_correct, messages

if TYPE_CHECKING:
    from core.models import Duel, Tournament

WARM = 3
"""Results before those that are timed: templates are read and statements prepared."""


class Measure:
    """The history of this process's database, and a tournament of each kind that goes on over it."""

    def __init__(self, *, agents: int, rows: int) -> None:
        begun = time.monotonic()
        # This sets Django up, which must come first.
        self._arena = fill(agents=agents, rows=rows)
        from core.jobs.bells import TOURNAMENT_TASK, answer

        filled = time.monotonic()
        # Once for the whole history, as after an upgrade.
        answer(TOURNAMENT_TASK, self._arena.environment.pk)
        self.about = {
            "fill_seconds": round(filled - begun, 1),
            "first_refresh_seconds": round(time.monotonic() - filled, 1),
        }
        self._begin = {"ladder": lambda: self._arena.ladder, "swiss": self._swiss, "edition": self._edition}
        self._tournaments: dict[str, Tournament] = {}

    def results(self, kind: str, count: int) -> list[dict[str, float]]:
        """What so many results in a tournament of a kind have taken, the first ones of it left out."""
        is_new = kind not in self._tournaments
        if is_new:
            self._tournaments[kind] = self._begin[kind]()
        found = [self._result(self._tournaments[kind]) for _ in range(count + WARM * is_new)]
        return found[-count:]

    def is_correct(self, kind: str) -> bool:
        return is_correct(self._tournaments[kind])

    def at_once(self, *, workers: int, seconds: float) -> dict[str, Any]:
        return finish_at_once(self._arena, self._tournaments["edition"], workers=workers, seconds=seconds)

    def _result(self, tournament: Tournament) -> dict[str, float]:
        """Finish a duel and have everything follow, until the page is right."""
        from django.test import Client
        from django.urls import reverse

        from core.jobs.bells import TOURNAMENT_TASK, answer

        client = Client(headers={"host": "127.0.0.1"})
        path = reverse("web:edition", args=[self._arena.environment.slug, tournament.edition])
        duel = _claimed(tournament)
        with messages() as sent:
            finish = _ms(lambda: _finish(duel, OUTCOMES[duel.number % len(OUTCOMES)]))
        refresh = _ms(lambda: answer(TOURNAMENT_TASK, self._arena.environment.pk))
        page = _ms(lambda: _read(client, path))
        parts = {"finish_ms": finish, "refresh_ms": refresh, "page_ms": page}
        return {"result_ms": sum(parts.values()), **parts, "messages": len(sent)}

    def _edition(self) -> Tournament:
        from core.models import Environment
        from tournament_manager.editions import start_now

        return start_now(Environment.objects.get(pk=self._arena.environment.pk))

    def _swiss(self) -> Tournament:
        """A Swiss tournament of everybody whose first round has been drawn; the ladder has ended."""
        from django.utils import timezone

        from core.jobs.bells import TOURNAMENT_TASK, answer
        from core.models import Environment, Play, Tournament
        from core.tournaments.planning import tournament_plan
        from tournament_manager.progress import tournament_begin

        environment = self._arena.environment
        Environment.objects.filter(pk=environment.pk).update(play=Play.NOTHING)
        answer(TOURNAMENT_TASK, environment.pk)
        now = timezone.now()
        plan = Tournament(environment=environment, name="Cup", format="swiss", starts_at=now)
        return tournament_begin(tournament_plan(tournament=plan, now=now), now=timezone.now())


def _claimed(tournament: Tournament) -> Duel:
    """The next duel of a tournament that waits, as its worker holds it."""
    from core.jobs.lifecycle import job_claim
    from core.models import Duel, JobState

    number = tournament.duels.filter(state=JobState.QUEUED).order_by("number").values_list("pk", flat=True).first()
    assert number is not None, f"{tournament} has no duel left that waits."
    duel = job_claim(kind=Duel, job_id=number, worker="worker-1")
    assert duel is not None
    return duel


def _finish(duel: Duel, outcome: Outcome) -> None:
    from core.duels.services import duel_succeed
    from core.jobs.artifacts import DuelArtifacts

    duel_succeed(duel=duel, record=record_of(duel, outcome), artifacts=DuelArtifacts(2, "", "", ""), log="")


def _read(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200, f"{path} answers {answer.status_code}."


def _ms(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begun)
