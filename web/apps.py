from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "web"

    def ready(self) -> None:
        # Listens to logins.
        import web.people.logins  # noqa: F401
