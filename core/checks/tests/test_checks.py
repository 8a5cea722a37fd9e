from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.exceptions import ImproperlyConfigured
from pytest_django.fixtures import Settings

from arena_kit.environment import registry
from arena_kit.image.engine import LIMITS
from core.checks.startup import ENGINE_TAG, TAG, refuse_unsafe_start


@pytest.fixture(autouse=True)
def good_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real site, as it should be."""
    settings.DEBUG = False
    settings.SANDBOX = "docker"
    settings.SECRET_KEY = "a-long-random-text-of-this-test-0123456789-abcdefghijklmnop"
    settings.INVITATION_CODE = settings.EMAIL_HOST_PASSWORD = settings.REDIS_URL = settings.METRICS_TOKEN = ""
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "")
    settings.CHANNEL_DIR = Path("/run/rl-arena")
    settings.DUEL_PARALLELISM = 1


def arena_messages(*, deployment: bool = False) -> list[CheckMessage]:
    return run_checks(tags=[TAG], include_deployment_checks=deployment)


def test_good_settings_pass() -> None:
    assert arena_messages() == []


def test_a_file_about_an_environment_that_is_wrong_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings.ENVIRONMENTS_DIR = tmp_path
    (tmp_path / "mine.yml").write_text("slug: mine\n")
    try:
        with monkeypatch.context() as patch:
            patch.setattr(registry, "_own_folders", [tmp_path])
            registry.forget()
            (message,) = arena_messages()
            # Other commands are not about environments.
            patch.setattr(sys, "argv", ["manage.py", "migrate"])
            assert arena_messages() == []
            patch.setattr(sys, "argv", ["manage.py", "check"])
            assert arena_messages() == [message]
    finally:
        registry.forget()
    assert (message.id, message.msg.rpartition("/")[2]) == ("arena.W010", "mine.yml: version: this key is missing.")
    # The arena starts without it.
    assert not message.is_serious()
    assert str(tmp_path) in str(message.hint)


def test_a_folder_for_data_that_is_not_there_is_refused_with_what_to_do(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path / "nowhere"
    (message,) = arena_messages()
    assert (message.id, message.msg) == ("arena.E023", f"DATA_DIR is {tmp_path}/nowhere, which does not exist.")
    assert "Make the folder" in str(message.hint)


def test_an_unknown_sandbox_is_refused(settings: Settings) -> None:
    settings.SANDBOX = "chroot"
    assert [(m.id, m.hint) for m in arena_messages()] == [("arena.E001", "Use one of docker, kubernetes, process.")]


def test_a_format_of_logs_and_networks_that_are_none_are_refused(settings: Settings) -> None:
    settings.LOG_FORMAT = "xml"
    settings.METRICS_NETWORKS = ["10.0.0.7", "172.16.0.0/12", "2001:db8::/32", "prometheus"]
    assert [(m.id, m.msg) for m in arena_messages()] == [
        ("arena.E020", "LOGS: format is 'xml'."),
        ("arena.E021", "METRICS_NETWORKS holds 'prometheus'."),
    ]


def test_the_process_sandbox_is_refused_on_a_real_site(settings: Settings) -> None:
    settings.SANDBOX = "process"
    (message,) = arena_messages()
    assert message.id == "arena.E002"
    assert message.is_serious()
    assert "SANDBOX=docker" in str(message.hint)


def test_the_process_sandbox_and_the_known_key_are_good_enough_for_ones_own_machine(settings: Settings) -> None:
    settings.DEBUG, settings.SANDBOX, settings.SECRET_KEY = True, "process", settings.INSECURE_SECRET_KEY
    assert arena_messages() == []


def test_the_known_key_is_refused_on_a_real_site(settings: Settings) -> None:
    settings.SECRET_KEY = settings.INSECURE_SECRET_KEY
    (message,) = arena_messages()
    assert message.id == "arena.E003"
    assert "SECRET_KEY_FILE" in str(message.hint)


@pytest.mark.parametrize("key", ["short-but-random-4f8a", "abcd" * 20, "django-insecure-" + "a1b2c3d4e5" * 5])
def test_a_key_that_can_be_guessed_is_refused_on_a_real_site(settings: Settings, key: str) -> None:
    settings.SECRET_KEY = key
    assert [message.id for message in arena_messages()] == ["arena.E003"]
    settings.DEBUG = True
    assert arena_messages() == []


@pytest.mark.parametrize(
    "word", ["changeme", "Change-Me-123", "password1", "arena", "x", "postgres", "aaaaaaaaaa", "letmein!"]
)
@pytest.mark.parametrize("name", ["INVITATION_CODE", "POSTGRES_PASSWORD", "REDIS_URL", "EMAIL_URL", "METRICS_TOKEN"])
def test_a_secret_that_is_tried_first_is_refused_on_a_real_site(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str, word: str
) -> None:
    if name == "POSTGRES_PASSWORD":
        monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", word)
    elif name == "EMAIL_URL":
        settings.EMAIL_HOST_PASSWORD = word
    else:
        setattr(settings, name, f"redis://:{word}@cache.example/0" if name == "REDIS_URL" else word)
    (message,) = arena_messages()
    assert (message.id, name in str(message.msg)) == ("arena.E011", True)
    assert len(word) <= len("postgres") or word not in str(message)
    settings.DEBUG = True
    assert arena_messages() == []


@pytest.mark.parametrize("word", ["", "sesame-sesame", "k3yK0mbu-1871", "Zx81-ösen-grün"])
def test_a_secret_of_ones_own_passes(settings: Settings, word: str) -> None:
    settings.INVITATION_CODE = settings.EMAIL_HOST_PASSWORD = word
    assert arena_messages() == []


def test_a_start_that_no_command_line_checks_is_refused_with_every_reason(settings: Settings) -> None:
    refuse_unsafe_start()
    settings.SANDBOX, settings.SECRET_KEY = "process", "short"
    with pytest.raises(ImproperlyConfigured, match=r"(?s)(?=.*arena\.E002)(?=.*arena\.E003)"):
        refuse_unsafe_start()


@pytest.mark.parametrize(("length", "ids"), [(80, []), (81, ["arena.E004"])])
def test_a_channel_folder_must_leave_room_for_a_socket(settings: Settings, length: int, ids: list[str]) -> None:
    settings.CHANNEL_DIR = Path("/" + "x" * (length - 1))
    assert [message.id for message in arena_messages()] == ids


@pytest.mark.parametrize(
    ("name", "is_fine"),
    [
        ("registry.example.org/players", True),
        ("registry.example.org:5000/arena/our_players", True),
        ("localhost/players", True),
        ("10.0.0.7:5000/players", True),
        # Engines would look for it on Docker Hub.
        ("arena/players", False),
        ("registry.example.org", False),
        ("https://registry.example.org/players", False),
        ("registry.example.org/Players", False),
        ("registry.example.org/players:tag", False),
        ("registry.example.org/../players", False),
    ],
)
def test_a_registry_is_a_host_and_a_path(settings: Settings, name: str, is_fine: bool) -> None:
    settings.PLAYER_REGISTRY = name
    assert [message.id for message in arena_messages()] == ([] if is_fine else ["arena.E025"])


def test_half_a_login_and_a_negative_limit_of_images_are_refused(settings: Settings) -> None:
    settings.PLAYER_REGISTRY_USER, settings.IMAGE_CACHE_BYTES = "arena", -1
    assert [message.id for message in arena_messages()] == ["arena.E025", "arena.E025"]


@pytest.mark.parametrize(
    ("registries", "sandbox", "count"),
    [
        (["ghcr.io", "registry.example.org:5000/me"], "docker", 0),
        (["ghcr.io"], "kubernetes", 1),
        (["https://ghcr.io", "Player"], "docker", 2),
        # It would hand out the players of others.
        (["registry.example.org"], "docker", 1),
        (["registry.example.org/arena/players"], "docker", 1),
        (["registry.example.org/arena/players2"], "docker", 0),
    ],
)
def test_registries_of_images_are_hosts_and_paths_apart_from_the_arenas_own(
    settings: Settings, registries: list[str], sandbox: str, count: int
) -> None:
    settings.PLAYER_REGISTRY, settings.IMAGE_REGISTRIES = "registry.example.org/arena/players", registries
    settings.SANDBOX, settings.KUBERNETES_IMAGE = sandbox, f"registry.example.org/site@sha256:{'a' * 64}"
    assert [message.id for message in arena_messages()] == ["arena.E027"] * count


def test_an_upload_is_refused_only_for_warnings_that_exist(settings: Settings) -> None:
    settings.UPLOAD_REFUSES = ["imports_subprocess", "subproces"]
    (message,) = arena_messages()
    assert (message.id, message.msg) == ("arena.E028", "UPLOAD_REFUSES has 'subproces'.")
    assert "imports_subprocess" in str(message.hint)


def test_a_deployment_with_a_registry_is_told_to_name_base_images_by_digest(settings: Settings) -> None:
    settings.PLAYER_REGISTRY = "registry.example.org/players"
    assert "arena.W012" in [message.id for message in arena_messages(deployment=True)]
    settings.PLAYER_BASE_IMAGES = {(3, 11): f"registry.example.org/base@sha256:{'a' * 64}"}
    assert "arena.W012" not in [message.id for message in arena_messages(deployment=True)]


def test_duels_that_could_not_be_played_are_refused(settings: Settings) -> None:
    settings.DUEL_PARALLELISM = 0
    (message,) = arena_messages()
    assert (message.id, message.msg) == ("arena.E005", "DUEL_PARALLELISM is 0.")
    assert "Set it to 1 or more" in str(message.hint)


def test_a_deployment_is_told_what_it_should_not_do_without(settings: Settings) -> None:
    engine = settings.DATABASES["default"]["ENGINE"]
    settings.REDIS_URL = ""
    expected = ["arena.W001", "arena.W002"] if engine.endswith("sqlite3") else ["arena.W002"]
    found = arena_messages(deployment=True)
    assert [message.id for message in found] == expected
    assert all(message.hint and not message.is_serious() for message in found)

    settings.REDIS_URL = "redis://cache.example:6379/0"
    assert "arena.W002" not in [message.id for message in arena_messages(deployment=True)]


def engine_messages() -> list[CheckMessage]:
    return run_checks(tags=[ENGINE_TAG], include_deployment_checks=True)


@pytest.fixture
def answering_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """An engine that says of itself what a test puts in here."""
    info: dict[str, Any] = {**dict.fromkeys(LIMITS, True), "SecurityOptions": ["name=seccomp,profile=default"]}

    class Engine(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"ApiVersion": "1.41"} if self.path == "/version" else info).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Engine) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield info
        server.shutdown()
        thread.join()


def test_an_engine_that_keeps_all_limits_passes(answering_engine: dict[str, Any]) -> None:
    assert engine_messages() == []


def test_every_limit_that_the_engine_does_not_keep_is_a_warning(answering_engine: dict[str, Any]) -> None:
    answering_engine.update(SwapLimit=False, SecurityOptions=["name=apparmor"])

    found = engine_messages()

    assert [(message.id, str(message.msg).rpartition(": ")[2]) for message in found] == [
        ("arena.W004", "swap."), ("arena.W004", "kernel calls."),
    ]  # fmt: skip
    assert all("sandbox_check" in str(message.hint) for message in found)


def test_a_machine_without_an_engine_is_told_so_and_only_at_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'silent.sock'}")
    assert [message.id for message in engine_messages()] == ["arena.W003"]
    assert run_checks(tags=[ENGINE_TAG]) == []
    settings.SANDBOX = "process"
    assert engine_messages() == []


def test_limits_that_make_no_sense_are_refused(settings: Settings) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "uploads_per_day": -1}
    rates = {**settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"], "sign_up": "many"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    assert [(message.id, message.msg) for message in arena_messages()] == [
        ("arena.E010", "The quota uploads_per_day is -1."),
        ("arena.E010", "The rate sign_up is 'many'."),
    ]


def test_nothing_is_kept_for_a_negative_time(settings: Settings) -> None:
    settings.KEEP_DAYS = {"logs": 0, "records": -1}
    found = run_checks(tags=[TAG])
    assert [(message.id, message.msg) for message in found] == [("arena.E022", "KEEP_DAYS: records is -1.")]
