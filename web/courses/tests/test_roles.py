"""What the roles of a course may not do: each POST of its pages, by people whose role gives no right to it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from core.models import Course, Member, Role, SeenBy, Tournament
from core.tests import factories
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", [Role.STUDENT, Role.TUTOR, Role.REFEREE, "elsewhere"])
def test_no_other_role_acts_for_a_teacher(role: str, cast: Cast, visit: As) -> None:
    here, there = (Course.objects.create(slug=slug, name=slug, seen_by=SeenBy.MEMBERS) for slug in ("here", "there"))
    person = factories.user("paula")
    own = Member.objects.create(
        course=there if role == "elsewhere" else here, user=person, role=Role.TEACHER if role == "elsewhere" else role
    )
    bob = Member.objects.create(course=here, user=cast.bob)
    cup = factories.planned(factories.environment(), name="Cup")
    Tournament.objects.filter(pk=cup.pk).update(course=here)
    slugs = ["here"] if role != "elsewhere" else ["here", "there"]
    client, before = visit(person), list(Tournament.objects.values())
    acts = [
        (reverse("web:course_change", args=["here"]), {"name": "Mine", "slug": "mine"}),
        (reverse("web:course_news", args=["here"]), {"title": "News", "text": "News."}),
        (reverse("web:course_class", args=["here"]), {"text": "new@school.example", "create": "1"}),
        (reverse("web:course_remind", args=["here"]), {"show": "nothing"}),
        (reverse("web:course_link", args=["here"]), {"open": "1"}),
        (f"{reverse('web:organise_plan')}?course=here", {"name": "New"}),
        (reverse("web:organise_replan", args=[cup.pk]), {"name": "Mine"}),
        *((reverse("web:course_copy", args=[slug, cup.pk]), {}) for slug in slugs),
        *((reverse("web:course_member", args=[slug, bob.pk]), {"role": "remove"}) for slug in slugs),
        *((reverse("web:course_member", args=[own.course.slug, own.pk]), {"role": "TEACHER"}),) * (role != "elsewhere"),
        *(
            (reverse("web:organise_action", args=["tournament", cup.pk, name]), {"reason": "Mine."})
            for name in ("call_off", "begin")
        ),
    ]
    answers = {address: client.post(address, sent).status_code for address, sent in acts}
    assert set(answers.values()) <= {403, 404}, answers
    assert list(Tournament.objects.values()) == before
    bob.refresh_from_db()
    own.refresh_from_db()
    assert (bob.role, own.role) == (Role.STUDENT, Role.TEACHER if role == "elsewhere" else role)
    assert Member.objects.count() == 2
