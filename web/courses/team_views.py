"""Teams of a course: made, joined, left, and worked as."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from core.courses import teams as services
from core.courses.services import join_address, join_close, join_find, join_open
from core.errors import Refused
from core.models import Course, Member, Role, Team
from core.people.rights import may
from web.courses.views import course_for
from web.organise.acting import record
from web.site.organisers import check, organiser
from web.site.requests import whole_number
from web.site.working import work

RIGHT = "core.change_course"
AGENTS = Count("account__agents", filter=Q(account__agents__deleted_at=None))


@require_safe
@login_required
def teams(request: HttpRequest, course: str) -> HttpResponse:
    """Show the teams of a course to its members, with what each may do."""
    row = get_object_or_404(Course, slug=course)
    member = _member(request, row)
    if member is None:
        check(request, "core.view_tournament", row.pk)
    rows = list(row.teams.select_related("account").annotate(agent_count=AGENTS))
    people: dict[int | None, list[Member]] = {}
    for one in services.members_of_teams(rows):
        people.setdefault(one.team_id, []).append(one)
    own = member.team if member else None
    may_change = may(request.user, RIGHT, row.pk)
    alone = services.students(row).filter(team=None)
    context = {
        "course": row,
        "teams": [(team, people.get(team.pk, [])) for team in rows],
        "own": own,
        "member": member,
        "own_people": people.get(own.pk, []) if own else [],
        "link": join_address(own) if own and member and member.leads else "",
        "may_change": may_change,
        "may_make": may_change or _may_make(member),
        "named": alone.exclude(user__team="").count() if may_change else 0,
    }
    return render(request, "web/courses/teams.html", context)


@require_POST
@login_required
def add(request: HttpRequest, course: str) -> HttpResponse:
    """Make a team: a student's own, an empty one by a teacher, or all that the class list names."""
    row = get_object_or_404(Course, slug=course)
    member, may_change = _member(request, row), may(request.user, RIGHT, row.pk)
    if not may_change and not _may_make(member):
        raise PermissionDenied("Only teachers make teams here, or students who are in none.")
    try:
        with transaction.atomic():
            if may_change and "all" in request.POST:
                count = services.teams_from_names(course=row)
                record(request, "add_teams", row, f"{count} people")
                said = f"{count} {'student is' if count == 1 else 'students are'} in a team now."
            else:
                people = [] if may_change or member is None else [member]
                made = services.team_create(course=row, name=request.POST.get("name", "").strip(), people=people)
                record(request, "add_team", row, str(made))
                said = f"The team {made} is there."
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, said)
    return redirect("web:course_teams", row.slug)


@require_POST
@login_required
def change(request: HttpRequest, course: str, team_id: int) -> HttpResponse:
    """Open or end the join link of a team, take a person out of it, leave it, or delete it."""
    row = get_object_or_404(Course, slug=course)
    team = get_object_or_404(row.teams.select_related("account"), pk=team_id)
    member, do = _member(request, row), request.POST.get("do", "")
    is_in = member is not None and member.team_id == team.pk
    leads = is_in and member is not None and member.leads
    if not (may(request.user, RIGHT, row.pk) or (leads and do != "delete") or (is_in and do == "leave")):
        raise PermissionDenied("Only people who lead a team, and teachers, may change it.")
    try:
        with transaction.atomic():
            said = _done(team, do, member if do == "leave" else _named(team, request), is_in=is_in)
            record(request, f"{do}_team" if do != "remove" else "leave_team", row, f"{team}: {said}")
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, said)
    return redirect("web:course_teams", row.slug)


def _named(team: Team, request: HttpRequest) -> Member | None:
    """Return the person of a team that a form names."""
    return team.people.select_related("user").filter(pk=whole_number(request.POST.get("member", "")) or 0).first()


def _done(team: Team, do: str, person: Member | None, *, is_in: bool) -> str:
    """Do one thing to a team; return a sentence. Raises Refused and Http404."""
    match do:
        case "open" | "close":
            (join_open if do == "open" else join_close)(group=team)
            return "There is a new link." if do == "open" else "The link has ended."
        case "leave" if person is not None and is_in:
            services.member_move(member=person, team=None)
            if not team.people.exists():
                with suppress(Refused):
                    services.team_delete(team=team)
                    return f"You have left {team}, which had no agents and is gone."
            return f"You have left {team}. Its agents stay with it."
        case "remove" if person is not None:
            services.member_move(member=person, team=None)
            return f"{person.user} is in no team now."
        case "delete":
            services.team_delete(team=team)
            return "The team is deleted."
    raise Http404("A team has nothing of this name.")


@login_required
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the team of a join link, and join it."""
    team = join_find(Team, token)
    if team is None:
        raise Http404("This link has ended. Ask the people of the team for another one.")
    member = _member(request, team.course)
    if member is None:
        # Without its name, because not everybody may know of a course.
        raise Http404("This team is of a course that you are not in. Join that first, by the link of its teacher.")
    if request.method == "POST":
        try:
            services.team_join(member=member, team=team)
        except Refused as refusal:
            messages.error(request, str(refusal))
        else:
            messages.success(request, f"You are in {team}. Work as the team to upload agents that belong to it.")
        return redirect("web:course_teams", team.course.slug)
    context = {
        "team": team,
        "course": team.course,
        "people": services.members_of_teams([team]),
        "problem": services.join_problem(member, team, team.course),
    }
    return render(request, "web/courses/team_join.html", context)


@require_POST
@login_required
def move(request: HttpRequest, course: str) -> HttpResponse:
    """Put the chosen students into a team, or out of all."""
    row = course_for(request, course, RIGHT)
    key = whole_number(request.POST.get("team", ""))
    team = get_object_or_404(row.teams, pk=key) if key else None
    keys = [number for word in request.POST.getlist("member") if (number := whole_number(word))]
    chosen = list(services.students(row).filter(pk__in=keys).select_related("user"))
    try:
        with transaction.atomic():
            for one in chosen:
                services.member_move(member=one, team=team)
            record(request, "move_to_team", row, f"{team or 'no team'}: {', '.join(str(one.user) for one in chosen)}")
    except Refused as refusal:
        messages.error(request, str(refusal))
    else:
        count = f"{len(chosen)} {'student is' if len(chosen) == 1 else 'students are'}"
        messages.success(request, f"{count} in {team or 'no team'} now.")
    return redirect("web:course_people", row.slug)


@require_POST
@login_required
def work_as(request: HttpRequest) -> HttpResponse:
    """Work as a team of the viewer, or as themselves again, and go on where they were."""
    key = whole_number(request.POST.get("team", ""))
    team = services.worked_as(organiser(request), key) if key else None
    if key and team is None:
        raise PermissionDenied("You are not in this team.")
    work(request, team)
    messages.success(request, f"You work as {team or organiser(request)} now.")
    wanted = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return redirect(wanted if is_ours else reverse("web:home"))


def _member(request: HttpRequest, course: Course) -> Member | None:
    rows = course.members.filter(user=request.user.pk).select_related("team__account", "user", "course")
    return rows.first()


def _may_make(member: Member | None) -> bool:
    """Return whether a member may make a team of their own."""
    is_alone = member is not None and member.role == Role.STUDENT and member.team_id is None
    return is_alone and member is not None and member.course.team_size > 1
