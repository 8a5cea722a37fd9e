from django.apps import AppConfig


class ExecutorConfig(AppConfig):
    name = "executor"

    def ready(self) -> None:
        # Not gRPC: only `run_executor` imports that.
        from executor import checks  # noqa: F401  (registers the system check)
