"""django-allauth's table of sessions as an app of this site."""

from __future__ import annotations

from allauth.usersessions.apps import UserSessionsConfig


class SessionsConfig(UserSessionsConfig):  # type: ignore[misc]  # the package has no types
    """The app without its listeners, which read every session of an account at each of its logins."""

    def ready(self) -> None:
        """Connect nothing: `core.people.sessions` writes the rows."""
