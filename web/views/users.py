from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from core.models import User
from core.selectors.agents import user_agent_list


def user(request: HttpRequest, username: str) -> HttpResponse:
    """A person's public page."""
    person = get_object_or_404(User, username__iexact=username, is_active=True)
    return render(request, "web/user.html", {"person": person, "agents": user_agent_list(person)})
