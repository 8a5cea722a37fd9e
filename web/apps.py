from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "web"

    def ready(self) -> None:
        # Listens to logins.
        import web.site.logins  # noqa: F401
        from core.links import pages_register
        from web.pages import PAGES

        pages_register(PAGES)
