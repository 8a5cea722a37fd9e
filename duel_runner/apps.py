from django.apps import AppConfig


class DuelRunnerConfig(AppConfig):
    name = "duel_runner"

    def ready(self) -> None:
        from duel_runner import checks  # noqa: F401  (registers the system checks)
