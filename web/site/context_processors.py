"""What every page needs to know."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from core.models import User
from core.notices.selectors import COUNTED, unread_count


def site(request: HttpRequest) -> dict[str, object]:
    """The site's name, whether players run without a real sandbox (a banner says so), and how much news there is."""
    return {
        "SITE_NAME": settings.SITE_NAME,
        "weak_sandbox": settings.SANDBOX == "process",
        # Parts of pages do not show it, so they do not ask.
        "unread": SimpleLazyObject(lambda: _unread(request)),
    }


def _unread(request: HttpRequest) -> str:
    """How many unread notices whoever is logged in has, as shown; empty for none."""
    count = unread_count(request.user) if isinstance(request.user, User) else 0
    return f"{COUNTED - 1}+" if count >= COUNTED else str(count or "")
