from django.apps import AppConfig


class RolloutRunnerConfig(AppConfig):
    name = "rollout_runner"

    def ready(self) -> None:
        from django.conf import settings

        from core.jobs.registry import Line, chore_register, queue_serve, task_register
        from core.models import PackageBuild, Rollout
        from core.rollouts.judging import JUDGE_TASK

        # A package is built once, and everything about its application waits for it.
        builds = Line(PackageBuild, "rollout_runner.building.package_make")
        rollouts = Line(Rollout, "rollout_runner.working.rollout_perform")
        if settings.PACKAGE_QUEUE == settings.ROLLOUT_QUEUE:
            queue_serve(settings.ROLLOUT_QUEUE, first=[builds], by_turns=[rollouts])
        else:
            queue_serve(settings.PACKAGE_QUEUE, first=[builds])
            queue_serve(settings.ROLLOUT_QUEUE, by_turns=[rollouts])
            chore_register(settings.PACKAGE_QUEUE, run="rollout_runner.host.engine_reap")
        task_register(JUDGE_TASK, "rollout_runner.verifying.rollouts_judge")
        chore_register(settings.ROLLOUT_QUEUE, run="rollout_runner.verifying.judgings_ring")
        chore_register(settings.ROLLOUT_QUEUE, run="rollout_runner.host.worlds_reap")
