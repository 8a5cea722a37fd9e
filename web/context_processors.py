"""What every page needs to know."""

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, object]:
    """The site's name, and whether players run without a real sandbox (a banner says so)."""
    return {"SITE_NAME": settings.SITE_NAME, "weak_sandbox": settings.SANDBOX == "process"}
