"""Secrets in rows: sealed with a key that the database does not have."""

from __future__ import annotations

import io
import json

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.core.management import call_command
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Webhook
from core.notices.alarms import alarm_raise
from core.notices.deliveries import deliveries_run
from core.sealing import NotOpened, opened, seal
from core.tests import applications, factories

URL = "https://chat.example.org/hook/very-secret"
pytestmark = pytest.mark.django_db


def webhook() -> Webhook:
    return Webhook.objects.create(name="chat", secret_url=URL, secret="a-signing-key")


def stored() -> str:
    """Return all that the database holds of webhooks and second factors."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret_url, secret FROM core_webhook")
        rows = [list(row) for row in cursor.fetchall()]
        cursor.execute("SELECT data FROM mfa_authenticator")
        return json.dumps([*rows, *(list(map(str, row)) for row in cursor.fetchall())])


def test_a_stolen_database_holds_no_secret_of_webhooks_and_factors() -> None:
    user = factories.user("ann")
    app, codes = TOTP.activate(user, "JBSWY3DPEHPK3PXP"), RecoveryCodes.activate(user)
    seed = opened(Authenticator.objects.get(pk=codes.instance.pk).data["seed"])
    webhook()
    held = stored()
    for secret in ("very-secret", "a-signing-key", "JBSWY3DPEHPK3PXP", seed):
        assert secret not in held
    row = Webhook.objects.get()
    assert (row.secret_url, row.secret, row.host) == (URL, "a-signing-key", "chat.example.org")
    assert len(RecoveryCodes(Authenticator.objects.get(pk=codes.instance.pk)).get_unused_codes()) == 10
    assert app.instance.data["secret"] != "JBSWY3DPEHPK3PXP"


def test_the_longest_address_has_room() -> None:
    row = Webhook(name="long", secret_url="https://a.example/" + "x" * 482, secret="k")
    row.full_clean(exclude=["kinds"])
    assert len(seal(row.secret_url)) <= 1500


def test_the_command_prints_a_count_of_secrets_if_there_are_any(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("secrets_seal")
    assert capsys.readouterr().out == ""
    webhook()
    call_command("secrets_seal")
    assert capsys.readouterr().out == "1 secret is encrypted with SECRET_KEY.\n"


def test_the_key_is_changed_by_a_fallback_and_a_command(settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "first" * 12, []
    TOTP.activate(factories.user("ann"), "JBSWY3DPEHPK3PXP")
    webhook()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "second" * 12, ["first" * 12]
    assert Webhook.objects.get().secret_url == URL
    call_command("secrets_seal")
    settings.SECRET_KEY_FALLBACKS = []
    assert Webhook.objects.get().secret_url == URL
    assert opened(Authenticator.objects.get().data["secret"]) == "JBSWY3DPEHPK3PXP"


def test_what_another_key_has_sealed_stops_nothing_and_stays(settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "first" * 12, []
    TOTP.activate(factories.user("ann"), "JBSWY3DPEHPK3PXP")
    row = webhook()
    before = stored()
    settings.SECRET_KEY = "second" * 12
    said = io.StringIO()
    call_command("secrets_seal", stderr=said)
    assert "SECRET_KEY_FALLBACKS does not name: the TOTP Authenticator of ann, the webhook chat." in said.getvalue()
    with pytest.raises(NotOpened):
        opened(Authenticator.objects.get().data["secret"])
    lost = Webhook.objects.get()
    assert (lost.secret_url, lost.host) == ("", "")
    lost.name = "renamed"
    lost.save()
    assert stored() == before
    Webhook.objects.filter(pk=row.pk).update(kinds=["ALARM"])
    alarm_raise(key="one", message="It is raised.")
    assert lost.deliveries.count() == 1
    deliveries_run()
    assert "stored with another SECRET_KEY" in lost.deliveries.get().error
    client = Client()
    client.force_login(applications.organiser())
    assert client.get("/organise/webhooks/").status_code == 200
    assert client.get(f"/organise/webhooks/{row.pk}/").status_code == 200


def test_secrets_from_before_are_read_and_sealed() -> None:
    webhook()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_webhook SET secret_url = %s, secret = 'plain'", [URL])
    assert Webhook.objects.get().secret_url == URL
    call_command("secrets_seal")
    assert URL not in stored()
    assert Webhook.objects.get().secret == "plain"
