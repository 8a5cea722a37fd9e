"""The page of an invitation link for people who are logged in."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from core.errors import Refused
from core.links import tournament_address
from core.models import User
from core.tournaments.invite_links import OVER, link_accept, link_find


def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Invite a person who has an account to the tournament of a link, once the person says so."""
    assert isinstance(request.user, User)
    now = timezone.now()
    link = link_find(token, now=now)
    if link is None or link.tournament is None:
        messages.info(request, OVER if link is None else "This link creates accounts. You have one already.")
        return redirect("web:home")
    form = forms.Form()
    if request.method == "POST":
        try:
            link_accept(link=link, user=request.user, now=now)
        except Refused as refusal:
            messages.error(request, str(refusal))
        return redirect(tournament_address(link.tournament))
    lead = f"{link.name}. You can take part with the account {request.user.username}, in which you are logged in."
    context = {"title": f"You are invited to {link.tournament}", "lead": lead, "button": "Accept", "form": form}
    return render(request, "web/people/form.html", context)
