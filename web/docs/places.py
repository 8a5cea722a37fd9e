"""Pages of the site that answer a question by themselves; the search shows them above everything else."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from core.courses.sight import Viewer
from core.submissions.search import environment_search

OF_A_RESET = frozenset({"reset", "forgot", "forgotten", "lost", "new", "change"})
"""Words of which one stands beside "password" where a new one is wanted."""
OF_ENVIRONMENT = {
    "rules": ("Rules of {}", "web:environment_rules"),
    "leaderboard": ("Leaderboard of {}", "web:environment"),
    "compare": ("Compare agents of {}", "web:compare"),
}
"""Pages of every environment, by the word that is searched with the environment's name."""
MOST = 4


def places(words: Sequence[str], viewer: Viewer) -> list[tuple[str, str]]:
    """Return the names and addresses of pages that the words of a search name."""
    lower = {word.lower() for word in words}
    found = []
    if "password" in lower and lower & OF_A_RESET:
        found.append(("Choose a new password", reverse("account_reset_password")))
    for word in sorted(lower & OF_ENVIRONMENT.keys()):
        title, view = OF_ENVIRONMENT[word]
        if rest := [one for one in words if one.lower() != word]:
            rows = environment_search(rest, viewer, limit=MOST)
            shown = [row for row in rows if word != "compare" or row.seats == 2]
            found += [(title.format(row.name), reverse(view, args=[row.slug])) for row in shown]
    return found
