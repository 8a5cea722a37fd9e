from django.apps import AppConfig


class PublisherConfig(AppConfig):
    name = "publisher"

    def ready(self) -> None:
        from core.jobs.messages import REPOSITORY_TASK
        from core.jobs.registry import Line, queue_serve, schedule_register, task_register
        from core.models import Publication
        from publisher import checks  # noqa: F401  (registers the system checks)

        queue_serve("publish", first=[Line(Publication, "publisher.tasks.publish")])
        task_register(REPOSITORY_TASK, "publisher.tasks.repository_refresh")
        schedule_register("repository", task=REPOSITORY_TASK, queue="publish", minutes=60)
