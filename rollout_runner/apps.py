from django.apps import AppConfig


class RolloutRunnerConfig(AppConfig):
    name = "rollout_runner"

    def ready(self) -> None:
        from django.conf import settings

        from core.jobs.registry import chore_register, task_register
        from core.rollouts.judging import JUDGE_TASK
        from rollout_runner.queues import serve

        serve()
        task_register(JUDGE_TASK, "rollout_runner.rechecks.rollouts_judge")
        chore_register(settings.ROLLOUT_QUEUE, run="rollout_runner.rechecks.judgings_request")
        chore_register(settings.ROLLOUT_QUEUE, run="rollout_runner.host.worlds_reap")
        if settings.GEMINI_KEY_NAME in settings.MODEL_KEYS:
            chore_register(settings.ROLLOUT_QUEUE, run="rollout_runner.agents.default_model_ensure")
        if settings.PACKAGE_QUEUE != settings.ROLLOUT_QUEUE:
            chore_register(settings.PACKAGE_QUEUE, run="rollout_runner.host.engine_reap")
