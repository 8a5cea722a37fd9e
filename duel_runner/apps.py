from django.apps import AppConfig


class DuelRunnerConfig(AppConfig):
    name = "duel_runner"

    def ready(self) -> None:
        from core.jobs.registry import Line, chore_register, queue_serve, schedule_register, task_register
        from core.models import Duel, Evaluation, Recording, Validation
        from duel_runner import checks  # noqa: F401  (registers the system checks)

        validations = Line(Validation, "duel_runner.tasks.validate")
        evaluate, play = "duel_runner.tasks.evaluate", "duel_runner.tasks.play_duel"
        evaluations = Line(Evaluation, evaluate, {"is_heavy": False, "is_verified": True})
        recordings = Line(Recording, "duel_runner.drawing.draw")
        # A script may run for minutes.
        scripts = Line(Evaluation, evaluate, {"is_heavy": False, "is_verified": False})
        duels = Line(Duel, play, {"is_heavy": False})
        heavy = [
            Line(Evaluation, evaluate, {"is_heavy": True, "is_verified": True}),
            Line(Evaluation, evaluate, {"is_heavy": True, "is_verified": False}),
            Line(Duel, play, {"is_heavy": True}),
        ]
        # People wait for a validation, and it is short. The others take turns, so that neither editions nor an
        # evaluation of everybody keep the others waiting for long.
        queue_serve("duel", first=[validations], by_turns=[evaluations, recordings, scripts, duels], last=heavy)
        # Of workers that are reserved for what is short.
        queue_serve("quick", first=[validations, evaluations, recordings])
        # Of workers that are reserved for what takes long; those of `duel` then leave it to them.
        queue_serve("heavy", by_turns=heavy)
        chore_register("duel", "quick", "heavy", run="duel_runner.tasks.leftovers_reap")
        task_register("results_verify", "duel_runner.recheck.sample.results_verify")
        schedule_register("verify", task="results_verify", queue="duel", minutes=60)
