"""The public page of a person."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import User
from core.submissions.selectors import user_agent_list

AGENTS_A_PAGE = 50


def user(request: HttpRequest, username: str) -> HttpResponse:
    """Show a person's public page, in pages: one account owns all anonymous agents, which may be many."""
    person = get_object_or_404(User, username__iexact=username, is_active=True)
    page = Paginator(person.agents.order_by("pk"), AGENTS_A_PAGE).get_page(request.GET.get("page"))
    agents = user_agent_list(person, offset=max(0, page.start_index() - 1), limit=AGENTS_A_PAGE)
    return render(request, "web/people/user.html", {"person": person, "agents": agents, "page": page})
