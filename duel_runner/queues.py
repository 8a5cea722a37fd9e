"""Which queues serve the jobs that play, by where submissions run."""

from __future__ import annotations

from django.conf import settings

from core.jobs.registry import Line, chore_register, driver_register, queue_serve
from core.models import Analysis, Duel, Evaluation, Recording, Sitting, Validation

EVALUATE, PLAY = "duel_runner.tasks.evaluate", "duel_runner.tasks.play_duel"


def serve(sandbox: str) -> None:
    """Register the queues of the jobs that play."""
    validations = Line(Validation, "duel_runner.tasks.validate")
    evaluations = Line(Evaluation, EVALUATE, {"is_heavy": False, "is_verified": True})
    recordings = Line(Recording, "duel_runner.recording.draw")
    analyses = Line(Analysis, "duel_runner.analysing.analyse")
    # A script may run for minutes.
    scripts = Line(Evaluation, EVALUATE, {"is_heavy": False, "is_verified": False})
    duels = Line(Duel, PLAY, {"is_heavy": False})
    heavy_evaluations = Line(Evaluation, EVALUATE, {"is_heavy": True, "is_verified": True})
    heavy_scripts = Line(Evaluation, EVALUATE, {"is_heavy": True, "is_verified": False})
    heavy_duels = Line(Duel, PLAY, {"is_heavy": True})
    if sandbox == "kubernetes":
        # A driver plays many at once, so that what is heavy holds nothing up. Workers of `duel` start no container.
        heavy = [heavy_evaluations, heavy_duels]
        queue_serve(settings.LOTS_QUEUE, first=[validations], shared=[evaluations, duels, *heavy])
        driver_register(settings.LOTS_QUEUE, run="duel_runner.lots.process.drive")
        queue_serve("duel", shared=[recordings, analyses, scripts, heavy_scripts])
        return
    # A person keeps its worker for as long as they are at the board.
    sittings = Line(Sitting, "duel_runner.sittings.play_sitting", waits_for_people=True)
    heavy = [heavy_evaluations, heavy_scripts, heavy_duels]
    # People wait for a validation, and it is short. The others share the time, so that neither editions nor an
    # evaluation of everybody nor people at the board keep the others waiting for long.
    shared = [sittings, evaluations, recordings, analyses, scripts, duels]
    queue_serve("duel", first=[validations], shared=shared, last=heavy)
    # Workers that are reserved for short work, and for people.
    queue_serve("quick", first=[validations, sittings, evaluations, recordings, analyses])
    # Workers that are reserved for long work; those of `duel` then leave it to them.
    queue_serve("heavy", shared=heavy)
    chore_register("duel", "quick", "heavy", run="duel_runner.tasks.leftovers_reap")
