from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from publisher.checks import check_addresses

REMOTE = "https://token@git.example.org/agents"
ADDRESS = "https://git.example.org/agents"


@pytest.mark.parametrize(
    ("remote", "address", "found"),
    [(REMOTE, "", ["arena.W007"]), (REMOTE, ADDRESS, []), ("", "", []), (ADDRESS, ADDRESS, [])],
)
def test_a_repository_without_an_address_for_people_is_named(
    remote: str, address: str, found: list[str], settings: Settings
) -> None:
    settings.PUBLISHER_REMOTE, settings.PUBLISHER_WEB_URL = remote, address
    assert [message.id for message in check_addresses()] == found
