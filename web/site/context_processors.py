"""Template context that every page needs."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from core.models import User
from core.notices.selectors import COUNTED, unread_count


def site(request: HttpRequest) -> dict[str, object]:
    """Return the site's name, its organisers' text and where its source is, the sandbox and the unread notices.

    weak_sandbox: whether players run without a real one. takes_strangers: whether people without an account may submit.
    opens_environments: whether submissions may add environments. place: the first part of the page's address, by which
    the header marks where the reader is. unread: the number of unread notices.
    """
    return {
        "SITE_NAME": settings.SITE_NAME,
        "SOURCE_URL": settings.SOURCE_URL,
        "ORGANISER_TEXT": settings.ORGANISER_TEXT,
        "weak_sandbox": settings.SANDBOX == "process",
        "takes_strangers": settings.ANONYMOUS_SUBMISSIONS,
        "opens_environments": settings.OPEN_ENVIRONMENTS != "false",
        "place": request.path.split("/", 2)[1],
        # Lazy, because parts of pages do not show it.
        "unread": SimpleLazyObject(lambda: _unread(request)),
    }


def _unread(request: HttpRequest) -> str:
    """Return the number of unread notices as the page shows it; empty for 0 and for visitors."""
    count = unread_count(request.user) if isinstance(request.user, User) else 0
    return f"{COUNTED - 1}+" if count >= COUNTED else str(count or "")
