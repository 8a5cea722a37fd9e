"""The form of a language model refuses what no worker could use, and says why."""

from __future__ import annotations

import pytest
from django.test import Client

from core.models import LanguageModel
from core.tests.factories import Cast
from web.conftest import As

pytestmark = pytest.mark.django_db
GIVEN = {
    "name": "mimic", "url": "https://models.invalid/v1", "model_id": "m", "form": "openai", "key_name": "",
    "sampling": "{}", "price_in_micros": "0", "price_cached_micros": "0", "price_out_micros": "0", "users": "STAFF",
    "parallel": "4", "cost_per_day_micros": "", "is_active": "on",
}  # fmt: skip


@pytest.fixture
def olga(cast: Cast, visit: As) -> Client:
    return visit(cast.olga)


def added(client: Client, **changed: str) -> dict[str, list[str]]:
    """Send the form; return its errors, none if the model is saved."""
    answer = client.post("/organise/models/add/", {**GIVEN, **changed})
    errors = dict(answer.context["form"].errors) if answer.status_code == 422 else {}
    assert bool(errors) is not LanguageModel.objects.filter(name="mimic").exists()
    assert answer.status_code in (200, 302, 422)
    return errors


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        (r'{"a": "\u0000"}', "control character U+0000"),
        (r'{"a": "\ud800"}', "control character U+D800"),
        ('{"a": 1e999}', "too large, infinite or NaN"),
        ('{"a": NaN}', "too large, infinite or NaN"),
        ('{"a": [Infinity]}', "too large, infinite or NaN"),
        ('{"a": ' + "9" * 5_000 + "}", "too large, infinite or NaN"),
        ("[" * 5_000, "nested more than"),
        ("[1, 2]", "Write an object of parameters"),
        ('"x"', "Write an object of parameters"),
        ("null", "Write an object of parameters"),
        ("{", "It is not JSON"),
    ],
)
def test_parameters_that_cannot_be_stored_or_sent_are_refused(olga: Client, sampling: str, said: str) -> None:
    (sentence,) = added(olga, sampling=sampling)["sampling"]
    assert said in sentence


@pytest.mark.parametrize("sampling", ["", "{}", '{"temperature": 0.5, "seed": 7, "stop": ["END"], "logprobs": false}'])
def test_an_object_of_parameters_is_stored(olga: Client, sampling: str) -> None:
    assert added(olga, sampling=sampling) == {}
    stored = LanguageModel.objects.get(name="mimic")
    assert stored.sampling == (
        {"temperature": 0.5, "seed": 7, "stop": ["END"], "logprobs": False} if len(sampling) > 2 else {}
    )
    page = olga.get(f"/organise/models/{stored.pk}/")
    assert page.context["form"]["sampling"].value() is not None


@pytest.mark.parametrize(
    ("url", "key_name", "said"),
    [
        ("ftp://x", "", "It has to begin with https://"),
        ("models.invalid/v1", "", "It has to begin with https://"),
        ("https://[api.openai.com]/", "", "This is not an address."),
        ("https://[api.openai.com]/", "mine", "This is not an address."),
        ("https://ann:pw@models.invalid/", "mine", "It has to begin with https://"),
        ("https://models.invalid/ä", "", "It may contain only plain letters"),
        ("http://127.0.0.1:8426/steal", "", "Plain http can be read on its way"),
    ],
)
def test_an_address_that_rollouts_cannot_use_is_refused(olga: Client, url: str, key_name: str, said: str) -> None:
    (sentence,) = added(olga, url=url, key_name=key_name)["url"]
    assert said in sentence


def test_plain_http_is_for_a_host_that_the_operator_names(olga: Client) -> None:
    assert added(olga, url="http://10.0.0.5:11434/v1", key_name="local") == {}
