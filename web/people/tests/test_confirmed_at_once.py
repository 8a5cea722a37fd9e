"""Two accounts confirm one address at once, on a real database: a module of its own, because its rows are committed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.db import connection, connections
from django.test import Client

from core.models import User
from core.people.emails import email_change_begin, email_is_of_another
from core.tests import factories

WANTED = "wanted@arena.example"


@pytest.mark.django_db(transaction=True)
def test_of_two_accounts_that_confirm_one_address_at_once_one_gets_it_and_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cast = factories.cast()
    people = (cast.alice, cast.bob)
    keys = [EmailConfirmationHMAC(email_change_begin(user=user, email=WANTED)).key for user in people]
    looked = Barrier(2)

    def free_for_both(*, user: User, email: str) -> bool:
        """Look as the site does, then wait until the other has looked too. SQLite lets one alone in a transaction."""
        found = email_is_of_another(user=user, email=email)
        if connection.vendor == "postgresql":
            looked.wait(timeout=60)
        return found

    def confirm(key: str) -> str:
        try:
            return Client().post(f"/confirm/{key}/", follow=True).content.decode()
        finally:
            connections.close_all()

    monkeypatch.setattr("core.people.emails.email_is_of_another", free_for_both)
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(confirm, keys))

    assert sorted("Your e-mail address is confirmed." in page for page in pages) == [False, True]
    (refused,) = (page for page in pages if "Your e-mail address is confirmed." not in page)
    assert "This address belongs to another account" in refused
    assert EmailAddress.objects.filter(email=WANTED, verified=True).count() == 1
    assert sorted(User.objects.filter(pk__in=[user.pk for user in people]).values_list("email", flat=True)) in (
        ["alice@arena.example", WANTED],
        ["bob@arena.example", WANTED],
    )
