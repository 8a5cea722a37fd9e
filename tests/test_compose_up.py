"""`docker compose up` for real: built, brought up, used as people use it, started again, taken down, removed."""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest
import requests
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine
from tests.machine import remove_images
from tests.programs import free_port
from tests.samples import BALANCING, zip_of
from tests.site_image import ROOT, missing_node
from tests.stack import (
    ARENA_UID,
    CERTIFICATE_SECONDS,
    DOMAIN,
    MONITORING,
    SERVICES,
    Stack,
    missing_compose,
    stand_ins,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.nightly, pytest.mark.slow]
DEADLINE_SECONDS = 600
PASSWORD = "correct-horse-battery-staple"
RUNNING = {
    "postgres", "redis", "web", "events", "worker-build", "worker-duel", "worker-tournament", "worker-publish", "nginx",
}  # fmt: skip
NAME = f"rl-arena-test-{os.getpid()}-stack"


@pytest.fixture(scope="module")
def images() -> Iterator[dict[str, str]]:
    """The stand-ins for images of a registry, by the variables of the compose files."""
    if why := missing_compose() or missing_node():
        pytest.skip(why)
    with engine() as client:
        try:
            yield stand_ins(client, NAME)
        finally:
            names = [
                f"{NAME}-site",
                *(f"{NAME}-{number}" for number in range(1, len(SERVICES) + 3)),
                f"{NAME}-watchers",
                f"{NAME}-servers",
            ]
            for name in names:
                _remove(client, name)


@contextmanager
def arena(images: Mapping[str, str], variables: Mapping[str, str], tls_port: int = 0) -> Iterator[Stack]:
    """An arena of the compose files that is removed in the end."""
    # Paths of sockets are short.
    folder = Path(tempfile.mkdtemp(prefix="stack-", dir="/tmp"))
    channels = folder / "c"
    channels.mkdir(mode=0o711)
    os.chown(channels, ARENA_UID, ARENA_UID)
    folder.chmod(0o755)
    found = Stack(project=NAME, folder=folder, port=free_port(), tls_port=tls_port)
    own = {
        "ALLOWED_HOSTS": "127.0.0.1", "SITE_URL": f"http://127.0.0.1:{found.port}", "CHANNEL_DIR": str(channels),
        "PLAYER_IMAGE_PREFIX": f"{NAME}-player",
    }  # fmt: skip
    found.write({**images, **own, **variables})
    try:
        found.compose("build", "web")
        yield found
    finally:
        found.compose("down", "--volumes", "--timeout", "20")
        remove_images(f"{NAME}-player")
        shutil.rmtree(folder)


def _remove(client: docker.DockerClient, name: str) -> None:
    try:
        client.images.remove(name, force=True)
    except ImageNotFound:
        return


class Visitor:
    """A person with a browser that keeps cookies and fills in forms."""

    def __init__(self, port: int) -> None:
        self.site = f"http://127.0.0.1:{port}"
        self.session = requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.session.get(self.site + path, timeout=120)

    def fill_in(self, path: str, **fields: str) -> requests.Response:
        """Send the form of a page; the answer is that of the page behind it."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path).text)
        assert token is not None, path
        data = {"csrfmiddlewaretoken": token[1], **fields}
        return self.session.post(self.site + path, data=data, headers={"Referer": self.site + path}, timeout=120)


def answers(visitor: Visitor) -> bool:
    try:
        return visitor.get("/health").status_code == 200
    except requests.ConnectionError:
        return False


def running(project: str) -> set[str]:
    """The services of which a container runs."""
    with engine() as client:
        found = client.containers.list(filters={"label": f"com.docker.compose.project={project}"})
        return {one.labels["com.docker.compose.service"] for one in found}


def make(stack: Stack, target: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", target, f"COMPOSE_FILES={' '.join(stack.files)}"], cwd=ROOT, env=stack.environment, input=answer,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE_SECONDS, check=False,
    )  # fmt: skip


def test_the_arena_of_docker_compose_is_built_used_restarted_and_removed(images: dict[str, str]) -> None:
    variables = {
        "SUPERUSER_EMAIL": "olga@example.org", "SUPERUSER_PASSWORD": PASSWORD,
        "INVITATION_CODE": "a-word-that-is-hard-to-guess",
    }  # fmt: skip
    with arena(images, variables) as stack:
        use_restart_and_remove(stack)


def use_restart_and_remove(stack: Stack) -> None:
    stack.compose("up", "--detach", "--no-build")
    visitor = Visitor(stack.port)
    wait_until(lambda: answers(visitor), "a healthy arena")
    assert running(stack.project) == RUNNING

    # The organiser of the variables; a person who signs up.
    organiser = Visitor(stack.port)
    assert organiser.fill_in("/login/", username="olga@example.org", password=PASSWORD).ok
    assert "Workers" in organiser.get("/operations/").text
    signed_up = visitor.fill_in(
        "/sign-up/", email="ada@example.org", username="ada", password1=PASSWORD, password2=PASSWORD,
        invitation_code="a-word-that-is-hard-to-guess",
    )  # fmt: skip
    assert signed_up.ok
    assert visitor.get("/operations/").status_code == 403

    # An agent, uploaded on the page, has a rank after it was built, validated and evaluated in containers.
    page = visitor.get("/environments/cart-pole/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token is not None
    sent = visitor.session.post(
        f"{visitor.site}/environments/cart-pole/agents/",
        data={"csrfmiddlewaretoken": token[1], "name": "balancer"},
        files={"archive": ("agent.zip", zip_of(BALANCING), "application/zip")},
        headers={"Referer": page.url}, timeout=120,
    )  # fmt: skip
    assert sent.ok, sent.text[:2000]
    wait_until(lambda: is_ranked(visitor), "a rank")

    stack.compose("restart", "--timeout", "20")
    wait_until(lambda: answers(visitor), "the arena after a restart")
    assert is_ranked(visitor)
    # The next start makes no second organiser and changes nothing of the first.
    assert "nothing is changed" in stack.compose("run", "--rm", "migrate", "python", "manage.py", "first_organiser")

    lose_the_host_and_follow_the_runbook(stack)
    wait_until(lambda: answers(visitor), "the arena on another host")
    assert is_ranked(visitor)
    # SECRET_KEY is the old one, but backups hold no sessions.
    assert visitor.get("/operations/").status_code != 403
    assert visitor.fill_in("/login/", username="ada@example.org", password=PASSWORD).ok
    assert visitor.get("/operations/").status_code == 403

    stack.compose("down")
    assert running(stack.project) == set()
    assert len(volumes(stack.project)) > 1
    refused = make(stack, "destroy", "no\n")
    assert refused.returncode != 0
    assert len(volumes(stack.project)) > 1
    done = make(stack, "destroy", f"{stack.project}\n")
    assert done.returncode == 0, done.stdout
    assert volumes(stack.project) == []


def lose_the_host_and_follow_the_runbook(stack: Stack) -> None:
    """*The host of the site* of docs/operator/runbooks.md, with last night's backup; its disks are gone."""
    backups = stack.folder / "backups"
    backups.mkdir()
    os.chown(backups, ARENA_UID, ARENA_UID)
    with_backups = ["run", "--rm", "--volume", f"{backups}:/backups", "migrate", "python", "manage.py"]
    stack.compose(*with_backups, "backup", "/backups/arena.tar")
    stack.compose("down", "--volumes", "--timeout", "20")
    assert volumes(stack.project) == []

    stack.compose("up", "--detach", "--no-build", "postgres", "redis")
    stack.compose("run", "--rm", "migrate")
    assert "is restored" in stack.compose(*with_backups, "restore", "/backups/arena.tar", "--replace")
    stack.compose("up", "--detach", "--no-build")


def is_ranked(visitor: Visitor) -> bool:
    """Return whether the agent stands first on its environment's page."""
    found = requests.get(f"{visitor.site}/api/v1/environments/cart-pole/board/", timeout=120)
    rows = found.json().get("results", []) if found.ok else []
    return [
        (row["rank"], row["agent"]["name"] if isinstance(row["agent"], dict) else row["agent"]) for row in rows
    ] == [(1, "balancer")]


def volumes(project: str) -> list[str]:
    with engine() as client:
        found = client.volumes.list(filters={"label": f"com.docker.compose.project={project}"})
    return [one.name for one in found]


def test_containers_get_a_certificate_show_the_site_with_it_and_renew_it(images: dict[str, str]) -> None:
    variables = {
        "ALLOWED_HOSTS": DOMAIN, "SITE_URL": f"https://{DOMAIN}", "TLS_DOMAINS": DOMAIN,
        "ACME_SERVER": "https://pebble:14000/dir",
    }  # fmt: skip
    with arena(images, variables, tls_port=free_port()) as stack:
        stack.compose("up", "--detach", "--no-build")
        wait_until(lambda: "Pebble" in issuer(stack), "a certificate of the authority")
        assert "<title>" in page(stack)
        bare = requests.get(
            f"http://127.0.0.1:{stack.port}/duels/1/", headers={"Host": DOMAIN}, timeout=30, allow_redirects=False
        )
        assert (bare.status_code, bare.headers["Location"]) == (308, f"https://{DOMAIN}/duels/1/")

        # The certificates last two minutes, so certbot's next try, which a restart brings on, renews.
        first = pair(stack)
        time.sleep(CERTIFICATE_SECONDS * 2 / 3)
        stack.compose("restart", "certbot")
        wait_until(lambda: pair(stack) != first, "a renewed certificate")
        assert "Pebble" in issuer(stack)
        assert "<title>" in page(stack)
        assert "nginx takes it" in stack.compose("logs", "nginx")


def pair(stack: Stack) -> str:
    """The certificate that visitors get; empty while nginx is not up."""
    try:
        return ssl.get_server_certificate(("127.0.0.1", stack.tls_port), timeout=30)
    except OSError:
        return ""


def issuer(stack: Stack) -> str:
    command = ["openssl", "x509", "-noout", "-issuer", "-ext", "subjectAltName"]
    done = subprocess.run(command, input=pair(stack), text=True, capture_output=True, check=False, timeout=30)
    return done.stdout if DOMAIN in done.stdout else ""


def page(stack: Stack) -> str:
    """The home page, over TLS."""
    context = ssl.create_default_context()
    # The authority is not known here; its name was looked at.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    asked = urllib.request.Request(f"https://127.0.0.1:{stack.tls_port}/", headers={"Host": DOMAIN})
    with urllib.request.urlopen(asked, context=context, timeout=60) as answer:
        return str(answer.read().decode())


def test_containers_watch_the_arena_and_hold_its_alerts(images: dict[str, str]) -> None:
    """Debian's Prometheus, Alertmanager and exporters, in the profile's containers; Debian has no Grafana and Loki."""
    with arena(images, {"METRICS_TOKEN": "a-token-for-metrics-that-is-long-enough"}) as stack:
        stack.compose("up", "--detach", "--no-build", *RUNNING, *MONITORING)
        wait_until(lambda: answers(Visitor(stack.port)), "a healthy arena")
        jobs = ("site", "workers", "redis", "host", "health", "live")
        wait_until(lambda: targets(stack) == {job: {"up"} for job in jobs}, "every target of Prometheus")

        alert = [{"labels": {"alertname": "FromTheTest", "severity": "warning"}, "annotations": {"summary": "Look."}}]
        send = ["curl", "-sS", "--json", json.dumps(alert), "http://127.0.0.1:9093/api/v2/alerts"]
        stack.compose("exec", "-T", "alertmanager", *send)
        held = ("exec", "-T", "alertmanager", "curl", "-sS", "http://127.0.0.1:9093/api/v2/alerts")
        wait_until(lambda: "FromTheTest" in stack.compose(*held), "the alert")


def targets(stack: Stack) -> dict[str, set[str]]:
    """The states of Prometheus' targets, by job; none while it does not answer."""
    try:
        said = stack.compose("exec", "-T", "prometheus", "curl", "-sS", "http://127.0.0.1:9090/api/v1/targets")
    except AssertionError:
        return {}
    found: dict[str, set[str]] = {}
    for target in json.loads(said[said.index("{") :])["data"]["activeTargets"]:
        found.setdefault(target["labels"]["job"], set()).add(target["health"])
    return found
