"""Template context that every page needs."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from core.models import User
from core.notices.selectors import COUNTED, unread_count
from core.people.audit_log import sender_of
from web.site.working import team_of

CONFIRM_LATER = "confirm_later"
"""In a session: the person has put off the request to confirm the e-mail address."""


def site(request: HttpRequest) -> dict[str, object]:
    """Return the site's name, its organisers' text and where its source is, the sandbox and the unread notices.

    weak_sandbox: whether players run without a real one. takes_strangers: whether people without an account may submit.
    opens_environments: whether submissions may add environments. place: the first part of the page's address, by which
    the header marks where the reader is. asks_to_confirm: whether the person still has to confirm the e-mail address
    and has not put that off. has_mails: whether a page shows the mails that the demo does not send. unread: the number
    of unread notices. works_as: the team as which the person works.
    """
    return {
        "SITE_NAME": settings.SITE_NAME,
        "SOURCE_URL": settings.SOURCE_URL,
        "ORGANISER_TEXT": settings.ORGANISER_TEXT,
        "weak_sandbox": settings.SANDBOX == "process",
        "takes_strangers": settings.ANONYMOUS_SUBMISSIONS,
        "opens_environments": settings.OPEN_ENVIRONMENTS != "false",
        "place": request.path.split("/", 2)[1],
        "asks_to_confirm": isinstance(request.user, User)
        and request.user.must_confirm_email
        and not request.session.get(CONFIRM_LATER),
        "has_mails": settings.DEBUG and settings.EMAIL_FILE_PATH,
        "works_as": team_of(request),
        # Lazy, because parts of pages do not show it.
        "unread": SimpleLazyObject(lambda: unread_shown(request)),
    }


def unread_shown(request: HttpRequest) -> str:
    """Return the number of unread notices as the page shows it; empty for 0 and for visitors."""
    person = sender_of(request)
    count = unread_count(person) if isinstance(person, User) else 0
    return f"{COUNTED - 1}+" if count >= COUNTED else str(count or "")
