"""Which queues serve the jobs that play, by where submissions run."""

from __future__ import annotations

from django.conf import settings

from core.jobs.registry import Line, chore_register, driver_register, queue_serve
from core.models import Analysis, Drill, Duel, Evaluation, Recording, Sitting, Validation

BOARDS_AT_ONCE = 16
"""How many players of one process think at the same time about the moves of people; a person waits for no other."""
EVALUATE, PLAY = "duel_runner.tasks.evaluate", "duel_runner.tasks.play_duel"


def serve(sandbox: str) -> None:
    """Register the queues of the jobs that play."""
    validations = Line(Validation, "duel_runner.tasks.validate")
    evaluations = Line(Evaluation, EVALUATE, {"is_heavy": False, "is_verified": True})
    recordings = Line(Recording, "duel_runner.recording.draw")
    analyses = Line(Analysis, "duel_runner.analysing.analyse")
    drills = Line(Drill, "duel_runner.drilling.drill")
    # A script may run for minutes.
    scripts = Line(Evaluation, EVALUATE, {"is_heavy": False, "is_verified": False})
    duels = Line(Duel, PLAY, {"is_heavy": False})
    heavy_evaluations = Line(Evaluation, EVALUATE, {"is_heavy": True, "is_verified": True})
    heavy_scripts = Line(Evaluation, EVALUATE, {"is_heavy": True, "is_verified": False})
    heavy_duels = Line(Duel, PLAY, {"is_heavy": True})
    if sandbox == "kubernetes":
        # A driver plays many at once, so that what is heavy holds nothing up. Workers of `duel` start no container.
        heavy = [heavy_evaluations, heavy_duels]
        lots = settings.KUBERNETES_OPTIONS["lots"]
        queue_serve(settings.LOTS_QUEUE, first=[validations], shared=[evaluations, duels, *heavy], at_once=lots)
        driver_register(settings.LOTS_QUEUE, run="duel_runner.lots.process.drive")
        queue_serve("duel", shared=[recordings, analyses, scripts, heavy_scripts])
        return
    heavy = [heavy_evaluations, heavy_scripts, heavy_duels]
    # People wait for a validation, and it is short. The others share the time, so that neither editions nor an
    # evaluation of everybody keep the others waiting for long.
    shared = [evaluations, recordings, analyses, drills, scripts, duels]
    queue_serve("duel", first=[validations], shared=shared, last=heavy)
    # A person who has moved waits for no duel, and keeps no worker while they think.
    sittings = Line(Sitting, "duel_runner.sittings.play_sitting")
    queue_serve("sitting", first=[sittings], at_once=BOARDS_AT_ONCE)
    # Workers that are reserved for short work.
    queue_serve("quick", first=[validations, evaluations, recordings, analyses, drills])
    # Workers that are reserved for long work; those of `duel` then leave it to them.
    queue_serve("heavy", shared=heavy)
    chore_register("duel", "sitting", "quick", "heavy", run="duel_runner.tasks.leftovers_reap")
