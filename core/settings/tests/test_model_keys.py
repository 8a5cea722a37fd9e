"""MODEL_KEYS: every key with the host that it is for."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.settings.model_keys import ModelKey, model_keys


def test_keys_are_read_with_their_hosts() -> None:
    text = "MAIN@api.Example.org=sk-1=2,\nLOCAL@10.0.0.5:11434=\n"
    assert model_keys(text) == {
        "MAIN": ModelKey("api.example.org", "sk-1=2"), "LOCAL": ModelKey("10.0.0.5:11434", ""),
    }  # fmt: skip
    assert model_keys("") == {}


@pytest.mark.parametrize("text", ["MAIN=sk-secret", "@host=sk-secret", "MAIN@=sk-secret", "MAIN@host"])
def test_a_key_without_a_host_keeps_the_arena_from_starting_and_is_not_shown(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="NAME@HOST=KEY") as refused:
        model_keys(text)
    assert "sk-secret" not in str(refused.value)
