"""Which addresses webhooks may have."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from core.notices.outgoing import CannotReach, is_public, post


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1", "::1",
     "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b:1::7f00:1", "fec0::1",
     "::127.0.0.1", "::ffff:0:127.0.0.1", "5f00::1", "3fff::1", "3fff:fff::1", "ff0e::1"],
)  # fmt: skip
def test_addresses_behind_the_wall_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:4700::1111", "2a00:1450::1", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"]
)
def test_addresses_of_the_internet_at_large_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("url", "said"),
    [("ftp://a.example/", "https://"), ("http://a.example/", "Use https"), ("https://u:p@a.example/", "password"),
     ("https://a.example/\r\nX: y", "plain letters"), ("https://a.example:99999/", "not an address"), ("", "https://")],
)  # fmt: skip
def test_what_is_no_good_address_is_refused_with_a_sentence(url: str, said: str, settings: Settings) -> None:
    settings.WEBHOOKS_OVER_HTTP = False
    with pytest.raises(CannotReach, match=said):
        post(url, body=b"", headers={})


@pytest.mark.parametrize("host", ["[::1]", "[::ffff:127.0.0.1]", "[fc00::17]"])
def test_an_address_of_the_sixth_version_needs_no_port(host: str) -> None:
    with pytest.raises(CannotReach, match="is not on the public internet"):
        post(f"https://{host}/hook", body=b"", headers={})
