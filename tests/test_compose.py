"""docker-compose.yml: what each service is given. `.ci/run` has Compose itself check the file."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.stack import compose_program, missing_compose

COMPOSE = Path(__file__).resolve().parent.parent / "docker-compose.yml"
SITE_AND_WORKERS = {
    "migrate", "web", "events", "worker-build", "worker-duel", "worker-rollout", "worker-tournament", "worker-publish",
    "autoscale", "monitoring-files", "executor",
}  # fmt: skip
WATCHERS = {
    "prometheus", "alertmanager", "grafana", "loki", "log-shipper", "redis-exporter", "node-exporter",
    "blackbox-exporter",
}  # fmt: skip
"""The services of the profile `monitoring` that are not the arena's own."""
DEBUGGERS = {"redis-commander"}
"""The services of the profile `debug`."""
HOLDERS = {
    "INVITATION_CODE": {"web"},
    "LOGIN_PROVIDERS": {"web"},
    "SUPERUSER_PASSWORD": {"migrate"},
    # The owner of the database.
    "POSTGRES_PASSWORD": {"migrate", "postgres"},
    "PIP_INDEX_URL": {"worker-build", "worker-rollout"},
    "MODEL_KEYS": {"worker-rollout"},
    "GEMINI_API_KEY": {"worker-rollout"},
    "PUBLISHER_REMOTE": {"worker-publish"},
    "SCALING": {"autoscale"},
    # They push and pull players' images.
    "PLAYER_REGISTRY": {"worker-build", "worker-duel", "worker-rollout"},
    # Every process of Django needs the key, the database (and to know of a pooler before it) and the files, may
    # raise an alarm, which is mailed, sends its errors to Sentry, through the proxy if there is one, and has metrics.
    **dict.fromkeys(
        (
            "SECRET_KEY",
            "SECRET_KEY_FALLBACKS",
            "DATABASE_ROLE_PASSWORD",
            "DATABASE_DIRECT_URL",
            "STORAGE",
            "EMAIL_URL",
            "SENTRY_DSN",
            "HTTPS_PROXY",
            "METRICS_TOKEN",
        ),
        SITE_AND_WORKERS,
    ),
    # Compose has addresses of its own, for the database and Redis beside the site.
    "DATABASE_URL": set(),
    "REDIS_URL": set(),
}
"""Every secret of the settings, with the services that read it from the file of variables."""


def services() -> dict[str, dict[str, Any]]:
    content: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return content


def environment(service: dict[str, Any], file: dict[str, str]) -> dict[str, str]:
    """The variables inside a container: those of the file if it reads it, and its own, which win."""
    own = {
        name: re.sub(r"\$\{([A-Z0-9_]+)[^}]*\}", lambda found: file.get(found[1], ""), str(value))
        for name, value in service.get("environment", {}).items()
    }
    return {**(file if "env_file" in service else {}), **own}


def in_a_file(names: set[str]) -> dict[str, str]:
    """A file of variables that sets each to a value of its own."""
    return {name: f"value of {name}" for name in names}


def test_it_is_decided_for_every_secret_who_holds_it() -> None:
    assert set(HOLDERS) == settings.VARIABLES.secrets


@pytest.mark.parametrize("name", HOLDERS)
def test_a_secret_reaches_the_services_that_use_it_and_no_other(name: str) -> None:
    file = in_a_file(set(settings.VARIABLES.names))
    found = {service for service, content in services().items() if file[name] in environment(content, file).values()}
    assert found == HOLDERS[name]


@pytest.mark.parametrize("name", [name for name, holders in HOLDERS.items() if len(holders) == 1])
def test_the_file_of_a_secret_is_named_to_the_service_that_uses_it_alone(name: str) -> None:
    file = in_a_file({f"{name}_FILE"})
    found = {service for service, content in services().items() if environment(content, file).get(f"{name}_FILE")}
    assert found == HOLDERS[name]


def test_every_variable_of_the_settings_reaches_a_service() -> None:
    file = in_a_file(set(settings.VARIABLES.names))
    inside = [environment(services()[name], file) for name in SITE_AND_WORKERS]
    assert [name for name in file if not any(one.get(name) for one in inside)] == []


def test_other_programs_get_nothing_of_the_arena() -> None:
    others = {name: content for name, content in services().items() if name not in SITE_AND_WORKERS}
    assert set(others) == {"postgres", "redis", "nginx", "base", *WATCHERS, *DEBUGGERS}
    file = in_a_file(set(settings.VARIABLES.names))
    inside = {name: set(environment(content, file)) for name, content in others.items()}
    assert inside == {
        "postgres": {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD"},
        "redis": {"REDISCLI_AUTH"},
        "nginx": {"ALLOWED_HOSTS"},
        "base": set(),
        **{name: set() for name in WATCHERS},
        "redis-exporter": {"REDIS_PASSWORD"},
        "grafana": {
            "GF_SECURITY_ADMIN_PASSWORD", "GF_ANALYTICS_REPORTING_ENABLED", "GF_ANALYTICS_CHECK_FOR_UPDATES",
            "GF_USERS_ALLOW_SIGN_UP",
        },
        "redis-commander": {"REDIS_HOSTS", "READ_ONLY", "NOSAVE", "NO_LOG_DATA", "HTTP_USER", "HTTP_PASSWORD"},
    }  # fmt: skip


def test_every_service_knows_whether_versions_are_published() -> None:
    file = {"PUBLISHER_REMOTE": "https://token@git.example.org", "PUBLISHER_WEB_URL": "https://git.example.org"}
    told = {environment(services()[name], file)["PUBLISHER_REMOTE"] for name in SITE_AND_WORKERS - {"worker-publish"}}
    assert told == {"https://git.example.org"}


def test_compose_runs_one_worker_for_every_queue() -> None:
    workers = [service["command"] for name, service in services().items() if name.startswith("worker-")]
    queues = [queue for command in workers for queue in command[3:]]
    assert sorted(queues) == sorted({*settings.QUEUES, settings.ROLLOUT_QUEUE})


def test_compose_opens_no_port_to_others_but_that_of_nginx() -> None:
    ports = {name: service["ports"] for name, service in services().items() if "ports" in service}
    here = ("127.0.0.1:", "${EXECUTOR_HOST:-127.0.0.1}:")
    own = {name: found for name, found in ports.items() if not all(one.startswith(here) for one in found)}
    assert set(own) == {"nginx"}
    assert set(ports) == {"nginx", "prometheus", "alertmanager", "grafana", "executor", *DEBUGGERS}


def test_what_watches_the_arena_starts_only_when_it_is_asked_for() -> None:
    profiles = {name: service.get("profiles") for name, service in services().items()}
    assert {name for name, found in profiles.items() if found == ["monitoring"]} == {*WATCHERS, "monitoring-files"}
    assert {name for name, found in profiles.items() if found == ["debug"]} == DEBUGGERS


def test_redis_commander_asks_for_a_password_and_changes_nothing() -> None:
    service = services()["redis-commander"]
    inside = environment(service, {"REDIS_COMMANDER_PASSWORD": "a password"})
    assert (inside["HTTP_USER"], inside["HTTP_PASSWORD"]) == ("admin", "a password")
    assert (inside["READ_ONLY"], inside["NOSAVE"]) == ("true", "true")
    assert inside["REDIS_HOSTS"].split(":")[1:3] == ["redis", "6379"]
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert "volumes" not in service


@pytest.mark.parametrize(
    ("name", "variable"), [("redis-commander", "HTTP_PASSWORD"), ("grafana", "GF_SECURITY_ADMIN_PASSWORD")]
)
def test_what_has_a_login_does_not_start_without_a_password(name: str, variable: str) -> None:
    service = services()[name]
    assert environment(service, {})[variable] == "", "the file of variables names no password by itself"
    command = [word.replace("$$", "$") for word in service["entrypoint"]]
    begun = command[-1].replace(command[-1].split("exec ", 1)[1], "echo it starts")
    for password, expected in (("", (1, "")), ("a password", (0, "it starts\n"))):
        done = subprocess.run(
            [*command[:-1], begun], env={variable: password}, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == expected
        assert password or "in .env" in done.stderr


def test_compose_gives_the_engine_only_to_the_workers_that_start_containers() -> None:
    with_engine = {name for name, service in services().items() if "docker.sock" in str(service.get("volumes"))}
    assert with_engine == {"worker-build", "worker-duel", "worker-rollout"}


def test_the_docs_stop_all_that_is_connected_to_the_database() -> None:
    """A restore refuses while a program is connected."""
    ours = {
        name for name, service in services().items()
        if name in SITE_AND_WORKERS and service["restart"] != "no" and "profiles" not in service
    }  # fmt: skip
    found = [
        (page.name, set(names.split()))
        for page in sorted((COMPOSE.parent / "docs").rglob("*.md"))
        for names in re.findall(r"docker compose stop ([a-z -]+)", page.read_text())
    ]
    assert {name for name, _ in found} == {"backup.md", "runbooks.md"}
    assert [(name, stopped) for name, stopped in found if stopped != ours] == []


@pytest.mark.parametrize("name", ["docker-compose.yml", "docker-compose.tls.yml", "deploy/worker/docker-compose.yml"])
def test_the_logs_of_every_service_rotate(name: str) -> None:
    services = yaml.safe_load((COMPOSE.parent / name).read_text())["services"]
    # Those that another file has already, and the base of players' images, which never runs.
    mine = {one: row for one, row in services.items() if "image" in row and one != "base"}
    assert mine
    limits = {one: row.get("logging", {}).get("options", {}) for one, row in mine.items()}
    assert {one: row for one, row in limits.items() if set(row) != {"max-size", "max-file"}} == {}


def test_hosts_of_workers_reach_the_database_and_redis_at_one_private_address(tmp_path: Path) -> None:
    if why := missing_compose():
        pytest.skip(why)
    text = re.sub(r"^(\w*PASSWORD)=$", r"\1=x", (COMPOSE.parent / "example.env").read_text(), flags=re.MULTILINE)
    (tmp_path / "env").write_text(f"{text}\nDOCKER_GROUP_ID=999\nPRIVATE_ADDRESS=10.114.0.2\n")
    files = [word for name in ("", ".workers") for word in ("--file", f"docker-compose{name}.yml")]
    command = [*compose_program(), "--env-file", str(tmp_path / "env"), *files, "config"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ARENA_ENV_FILE": str(tmp_path / "env")}
    done = subprocess.run(command, cwd=COMPOSE.parent, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    merged = yaml.safe_load(done.stdout)
    for name, number in (("postgres", 5432), ("redis", 6379)):
        # The older Compose writes a port as a text.
        [port] = merged["services"][name]["ports"]
        given = port if isinstance(port, str) else "{host_ip}:{published}:{target}/{protocol}".format(**port)
        assert given.removesuffix("/tcp") == f"10.114.0.2:{number}:{number}"
        assert set(merged["services"][name]["networks"]) == {"inside", "workers"}
    assert not (merged["networks"]["workers"] or {}).get("internal")


def test_a_droplet_of_workers_gets_an_address_in_the_network_of_the_module() -> None:
    output = (COMPOSE.parent / "terraform/digitalocean/outputs.tf").read_text()
    assert "vpc_uuid=${digitalocean_vpc.inside.id}," in output
    assert "vpc_uuid" in settings.SCALING
