"""`docker compose up` for real: built, brought up, used as people use it, started again, taken down, removed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
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
from tests.stack import ARENA_UID, SERVICES, Stack, missing_compose, stand_ins

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.nightly, pytest.mark.slow]
DEADLINE_SECONDS = 600
PASSWORD = "correct-horse-battery-staple"
RUNNING = {
    "postgres", "redis", "web", "events", "worker-build", "worker-duel", "worker-tournament", "worker-publish", "nginx",
}  # fmt: skip
NAME = f"rl-arena-test-{os.getpid()}-stack"


@pytest.fixture
def stack() -> Iterator[Stack]:
    if why := missing_compose() or missing_node():
        pytest.skip(why)
    # Paths of sockets are short.
    folder = Path(tempfile.mkdtemp(prefix="stack-", dir="/tmp"))
    channels = folder / "c"
    channels.mkdir(mode=0o711)
    os.chown(channels, ARENA_UID, ARENA_UID)
    folder.chmod(0o755)
    found = Stack(project=NAME, folder=folder, port=free_port())
    with engine() as client:
        try:
            found.write({
                **stand_ins(client, NAME), "ALLOWED_HOSTS": "127.0.0.1", "SITE_URL": f"http://127.0.0.1:{found.port}",
                "CHANNEL_DIR": str(channels), "PLAYER_IMAGE_PREFIX": f"{NAME}-player",
                "SUPERUSER_EMAIL": "olga@example.org", "SUPERUSER_PASSWORD": PASSWORD,
                "INVITATION_CODE": "a-word-that-is-hard-to-guess",
            })  # fmt: skip
            yield found
        finally:
            found.compose("down", "--volumes", "--timeout", "20")
            remove_images(f"{NAME}-player")
            names = [f"{NAME}-site", f"{NAME}-servers", *(f"{NAME}-{number}" for number in range(1, len(SERVICES) + 3))]
            for name in reversed(names):
                _remove(client, name)
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


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not true():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS} s: {what}"
        time.sleep(1)


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


def test_the_arena_of_docker_compose_is_built_used_restarted_and_removed(stack: Stack) -> None:
    stack.compose("build", "web")
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

    assert make(stack, "stop").returncode == 0
    assert running(stack.project) == set()
    assert len(volumes(stack.project)) > 1
    refused = make(stack, "destroy", "no\n")
    assert refused.returncode != 0
    assert len(volumes(stack.project)) > 1
    done = make(stack, "destroy", f"{stack.project}\n")
    assert done.returncode == 0, done.stdout
    assert volumes(stack.project) == []


def is_ranked(visitor: Visitor) -> bool:
    """Whether the agent stands first on its environment's page."""
    found = requests.get(f"{visitor.site}/api/v1/environments/cart-pole/board/", timeout=120)
    rows = found.json().get("results", []) if found.ok else []
    return [
        (row["rank"], row["agent"]["name"] if isinstance(row["agent"], dict) else row["agent"]) for row in rows
    ] == [(1, "balancer")]


def volumes(project: str) -> list[str]:
    with engine() as client:
        found = client.volumes.list(filters={"label": f"com.docker.compose.project={project}"})
    return [one.name for one in found]
