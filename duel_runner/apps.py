from django.apps import AppConfig


class DuelRunnerConfig(AppConfig):
    name = "duel_runner"

    def ready(self) -> None:
        from django.conf import settings

        from core.jobs.registry import schedule_register, task_register
        from duel_runner import checks  # noqa: F401  (registers the system checks)
        from duel_runner.queues import serve

        serve(settings.SANDBOX)
        task_register("results_recheck", "duel_runner.recheck.sample.results_recheck")
        schedule_register("verify", task="results_recheck", queue="duel", minutes=60)
