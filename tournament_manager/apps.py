from django.apps import AppConfig


class TournamentManagerConfig(AppConfig):
    name = "tournament_manager"

    def ready(self) -> None:
        from core.jobs.messages import TOURNAMENT_TASK
        from core.jobs.registry import schedule_register, task_register

        task_register(TOURNAMENT_TASK, "tournament_manager.tasks.tournaments_advance")
        task_register("watchdog", "tournament_manager.tasks.watchdog")
        task_register("artifacts_remove_unused", "tournament_manager.tasks.artifacts_remove_unused")
        schedule_register("watchdog", task="watchdog", queue="tournament", minutes=1)
        schedule_register("artifacts", task="artifacts_remove_unused", queue="tournament", minutes=10)
