"""The model of the older dashboard is there as soon as a worker has its key."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from core.models import LanguageModel
from core.settings.model_keys import ModelKey
from rollout_runner.agents import GEMINI_MODEL, default_model_ensure, model_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("debug", "users"), [(False, "STAFF"), (True, "MEMBERS")])
def test_a_key_of_gemini_makes_one_model_that_can_be_asked(settings: Settings, debug: bool, users: str) -> None:
    settings.DEBUG = debug
    settings.MODEL_KEYS = {settings.GEMINI_KEY_NAME: ModelKey("generativelanguage.googleapis.com", "k1")}
    default_model_ensure()
    default_model_ensure()
    row = LanguageModel.objects.get()
    assert (row.name, row.users) == (GEMINI_MODEL, users)
    asked = model_of(row, None)
    assert (asked.name, asked.key) == (GEMINI_MODEL, "k1")
