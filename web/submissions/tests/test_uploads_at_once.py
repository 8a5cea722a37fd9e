"""Two uploads of one name at once, on a real database: a module of its own, because its rows are committed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from core.models import Submission
from core.tests import factories
from web.conftest import As
from web.submissions.tests.test_uploads import ADDRESS, TAKEN, errors, form


@pytest.mark.django_db(transaction=True)
def test_of_two_uploads_of_one_name_at_once_one_wins_and_one_is_told(visit: As) -> None:
    cast = factories.cast()
    factories.environment()
    clients = [visit(cast.alice), visit(cast.bob)]
    start = Barrier(2)

    def send(client: Client) -> Any:
        start.wait(timeout=60)
        try:
            return client.post(ADDRESS, form())
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(send, clients))
    assert sorted(answer.status_code for answer in answers) == [302, 422]
    (loser,) = (answer for answer in answers if answer.status_code == 422)
    assert errors(loser)["name"] == [TAKEN]
    assert Submission.objects.count() == 1
