"""The organisers' index: every page is in a group, for people who may see it."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from core.models import User
from core.tests import factories
from web.admin.index import labels
from web.admin.tables import GROUPS

pytestmark = pytest.mark.django_db


def test_every_page_is_in_one_group() -> None:
    grouped = [name for _, _, tables in GROUPS for name in labels(tables)]
    assert sorted(grouped) == sorted(model._meta.label_lower for model in admin.site._registry)


def test_the_index_shows_the_groups_in_order_and_no_application(client: Client, cast: factories.Cast) -> None:
    client.force_login(cast.olga)
    shown = client.get(reverse("admin:index")).context["app_list"]
    assert [group["name"] for group in shown] == [title for title, _, _ in GROUPS]
    people = next(group for group in shown if group["name"] == "People")
    assert "Second factors" in [page["name"] for page in people["models"]]


def test_a_group_without_a_page_for_this_person_is_left_out(client: Client, cast: factories.Cast) -> None:
    User.objects.filter(pk=cast.olga.pk).update(is_superuser=False)
    client.force_login(cast.olga)
    assert client.get(reverse("admin:index")).context["app_list"] == []
