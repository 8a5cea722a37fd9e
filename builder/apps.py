from django.apps import AppConfig


class BuilderConfig(AppConfig):
    name = "builder"

    def ready(self) -> None:
        from core.jobs.messages import BASE_IMAGE_TASK, IMAGES_CHECK_TASK, IMAGES_TASK
        from core.jobs.registry import Line, queue_serve, schedule_register, task_register
        from core.models import Build, EnvironmentTrial

        queue_serve(
            "build",
            first=[Line(Build, "builder.tasks.build_image")],
            shared=[Line(EnvironmentTrial, "builder.environments.environment_try")],
        )
        task_register(BASE_IMAGE_TASK, "arena_kit.image.calls.ensure_base_image")
        task_register(IMAGES_TASK, "builder.tasks.images_remove_unused")
        task_register(IMAGES_CHECK_TASK, "builder.tasks.images_restore")
        schedule_register("images", task=IMAGES_TASK, queue="build", minutes=1)
