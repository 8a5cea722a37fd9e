"""The site as in production. In the same process, one address bypasses the arena's middleware."""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler
from django.test import override_settings

from core.wsgi import application as site


class Bare(WSGIHandler):
    """Plain Django without middleware."""

    def load_middleware(self, is_async: bool = False) -> None:
        with override_settings(MIDDLEWARE=[]):
            super().load_middleware(is_async)


bare = Bare()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    handler: Any = bare if environ["PATH_INFO"] == "/bare/" else site
    return handler(environ, start_response)
