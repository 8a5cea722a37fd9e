from django.apps import AppConfig


class PublisherConfig(AppConfig):
    name = "publisher"

    def ready(self) -> None:
        from core.jobs.registry import Line, queue_serve
        from core.models import Publication
        from publisher import checks  # noqa: F401  (registers the system checks)

        queue_serve("publish", first=[Line(Publication, "publisher.tasks.publish")])
