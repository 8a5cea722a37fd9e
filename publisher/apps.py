from django.apps import AppConfig


class PublisherConfig(AppConfig):
    name = "publisher"

    def ready(self) -> None:
        from core.jobs.registry import Line, queue_serve
        from core.models import Publication

        queue_serve("publish", first=[Line(Publication, "publisher.tasks.publish")])
