"""Submissions by programs to an environment that is not available."""

from __future__ import annotations

import pytest

from core.models import Environment, Submission
from core.tests.factories import Cast
from tests.samples import FIRST, archive
from web.api.tests.conftest import Program
from web.api.tests.sending import SUBMIT, script

pytestmark = pytest.mark.django_db
SENTENCE = "is not available on this arena at the moment. The organisers can see why."


@pytest.fixture(autouse=True)
def unavailable(cart_pole: Environment) -> None:
    cart_pole.unavailable_because = "CartPole-v1 needs a package. Run `pip install it`."
    cart_pole.save()


def test_both_apis_refuse_a_submission_with_the_same_sentence(cast: Cast, program: Program) -> None:
    client = program(cast.alice)
    native = client.post("/api/v1/agents/", {"environment": "cart-pole", "name": "x", "archive": archive(FIRST)})
    compatible = client.post(SUBMIT, script())
    for answer in (native, compatible):
        assert answer.status_code == 400
        assert SENTENCE in answer.content.decode()
        assert "pip install" not in answer.content.decode()
    assert not Submission.objects.exists()


def test_the_list_of_environments_says_which_are_available(program: Program) -> None:
    (row,) = program(None).get("/api/v1/environments/").json()["results"]
    assert (row["is_active"], row["is_available"]) == (True, False)
    assert "pip install" not in str(row)
