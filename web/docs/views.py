"""The documentation on the site, and the search over agents, people, environments and documentation."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from core.ratings.board import standings_of
from core.submissions.search import agent_search, environment_search, user_search
from web.docs.pages import INDEX, doc_group, doc_pages, index_parts
from web.docs.places import places
from web.docs.search import doc_search, search_words
from web.site.requests import viewer_of

FOUND = 10
"""The most that a search shows of each kind."""
LONGEST = 100
MOST_WORDS = 8


OPEN_PARTS = 2
"""How many parts of the index are open: those for participants and organisers. The others are folded."""


def how(request: HttpRequest) -> HttpResponse:
    """Show how an arena works, on one page for newcomers."""
    return render(request, "web/docs/how.html")


def index(request: HttpRequest) -> HttpResponse:
    """List the pages of the documentation by reader."""
    parts = index_parts()
    return render(request, "web/docs/index.html", {"open": parts[:OPEN_PARTS], "folded": parts[OPEN_PARTS:]})


def doc(request: HttpRequest, name: str) -> HttpResponse:
    """Show a page of the documentation."""
    page = doc_pages().get(name)
    if page is None or name == INDEX:
        raise Http404("The documentation has no such page.")
    return render(request, "web/docs/doc.html", {"page": page, "siblings": doc_group(page) if page.group else []})


def search(request: HttpRequest) -> HttpResponse:
    """Show what has all words of `?q=`."""
    query = request.GET.get("q", "").replace("\0", "")[:LONGEST].strip()
    words = search_words(query, most=MOST_WORDS)
    context: dict[str, object] = {"query": query, "most": FOUND}
    if words:
        viewer = viewer_of(request)
        environments = environment_search(words, viewer, limit=FOUND)
        agents = agent_search(words, viewer, limit=FOUND)
        standings = standings_of(agents)
        found = {
            "places": places(words, viewer),
            "environments": environments,
            "agents": [(agent, standings.get(agent.pk)) for agent in agents],
            "people": user_search(words, viewer, limit=FOUND),
            "docs": doc_search(words, limit=FOUND),
        }
        # An environment whose description alone has the words comes after the documentation.
        is_named = any(words[0].lower() in f"{row.name} {row.env_id} {row.slug}".lower() for row in environments)
        context |= {**found, "is_named": is_named, "is_empty": not any(found.values())}
    return render(request, "web/docs/search.html", context)
