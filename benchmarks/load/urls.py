"""The site, and a view at two addresses that returns a constant, see `benchmarks.load.wsgi`."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from web.urls import handler500, urlpatterns


def constant(request: HttpRequest) -> HttpResponse:
    """Return a constant, the least that a view can do."""
    return HttpResponse("ok", content_type="text/plain")


__all__ = ["handler500", "urlpatterns"]
urlpatterns = [path("bare/", constant), path("bare-in-site/", constant), *urlpatterns]
