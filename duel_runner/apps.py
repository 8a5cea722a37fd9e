from django.apps import AppConfig


class DuelRunnerConfig(AppConfig):
    name = "duel_runner"

    def ready(self) -> None:
        from core.jobs.registry import Line, chore_register, queue_serve, schedule_register, task_register
        from core.models import Duel, Evaluation, Recording, Validation
        from duel_runner import checks  # noqa: F401  (registers the system checks)

        validations = Line(Validation, "duel_runner.tasks.validate")
        evaluations = Line(Evaluation, "duel_runner.evaluating.evaluate", {"is_verified": True})
        recordings = Line(Recording, "duel_runner.drawing.draw")
        # A script may run for minutes.
        scripts = Line(Evaluation, "duel_runner.evaluating.evaluate", {"is_verified": False})
        duels = Line(Duel, "duel_runner.tasks.play_duel")
        # People wait for a validation, and it is short. The others take turns, so that neither editions nor an
        # evaluation of everybody keep the others waiting for long.
        queue_serve("duel", first=[validations], by_turns=[evaluations, recordings, scripts, duels])
        # Of workers that are reserved for what is short.
        queue_serve("quick", first=[validations, evaluations, recordings])
        chore_register("duel", "quick", run="duel_runner.tasks.leftovers_reap")
        task_register("results_verify", "duel_runner.recheck.sample.results_verify")
        schedule_register("verify", task="results_verify", queue="duel", minutes=60)
