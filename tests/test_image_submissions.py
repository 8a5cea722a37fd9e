"""Players as container images: taken from a registry, flattened, validated and played beside those of zips."""

from __future__ import annotations

import io
import itertools
import platform
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import docker
import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django.fixtures import Settings

from arena_kit.image.calls import engine as connect
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer
from arena_kit.tests.image.registries import RegistryServer, registry_server, small_base_image
from arena_kit.tests.pythons import older_pythons
from arena_kit.upload.packing import pack_image
from core.models import Build, Duel, Environment, JobFault, JobState, Submission, SubmissionForm, User, Validation
from core.submissions.existing import submission_rebuild
from core.submissions.services import agent_create
from core.tests.working import run
from tests.samples import FIRST, LAST, deliver_messages, tic_tac_toe, upload
from tests.workplaces import leave_workplace

pytestmark = [
    pytest.mark.docker, pytest.mark.registry, pytest.mark.slow, pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]  # fmt: skip
NUMBERS = itertools.count(1)
File = str | tuple[str, str]
"""The text of a program, or the target of a link and "link"."""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with connect() as made:
        yield made


@pytest.fixture(scope="module")
def small(client: docker.DockerClient, arena_settings: None) -> str:
    return small_base_image(
        client, django_settings.PLAYER_BASE_IMAGE, f"{django_settings.PLAYER_IMAGE_PREFIX}-theirs:small"
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with registry_server(tmp_path_factory.mktemp("theirs"), is_open=True) as made:
        yield made


@pytest.fixture(autouse=True)
def site(settings: Settings, server: RegistryServer) -> Iterator[None]:
    settings.SANDBOX = "docker"
    settings.PLAYER_IMAGE_PREFIX = f"{settings.PLAYER_IMAGE_PREFIX}-i{next(NUMBERS)}"
    settings.IMAGE_REGISTRIES = [server.registry.host]
    yield
    leave_workplace()


@pytest.fixture
def environment() -> Environment:
    return tic_tac_toe()


def pushed(
    client: docker.DockerClient, server: RegistryServer, base: str, tag: str, files: Mapping[str, File], **labels: str
) -> str:
    """Push an image of somebody with these files on top of a base; return its name in the registry."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o4700
            if isinstance(content, tuple):
                entry.linkname, entry.type = content[0], tarfile.SYMTYPE
                tar.addfile(entry)
            else:
                entry.size = len(content.encode())
                tar.addfile(entry, io.BytesIO(content.encode()))
    mine = f"{django_settings.PLAYER_IMAGE_PREFIX}-theirs:{tag}"
    commit_layer(client, base, iter([layer.getvalue()]), tag=mine, labels={PREFIX_LABEL: "theirs", **labels})
    try:
        server.registry.push(client, mine)
    finally:
        client.images.remove(mine)
    return f"{server.registry.repository}:{tag}"


def with_python(client: docker.DockerClient, base: str, python: Path) -> str:
    """Return the content id of an image with an interpreter of this machine in /usr/local, on top of a base."""
    prefix, layer = python.parents[1], io.BytesIO()
    left_out = re.compile(r"/(test|site-packages|idlelib|lib2to3|ensurepip|__pycache__|config-3[^/]*)(/|$)")
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.add(python, f"usr/local/bin/{python.name}")
        link = tarfile.TarInfo("usr/local/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, python.name
        tar.addfile(link)
        for shared in prefix.glob(f"lib/lib{python.name}*.so.1.0"):
            tar.add(shared, f"usr/lib/{platform.machine()}-linux-gnu/{shared.name}")
        tar.add(
            prefix / "lib" / python.name, f"usr/local/lib/{python.name}",
            filter=lambda one: None if left_out.search(f"/{one.name}") else one,
        )  # fmt: skip
    name = f"{django_settings.PLAYER_IMAGE_PREFIX}-theirs:{python.name}"
    return commit_layer(client, base, iter([layer.getvalue()]), tag=name, labels={PREFIX_LABEL: "theirs"})


def submitted(environment: Environment, name: str, image: str) -> Submission:
    """Submit an image for a user of the same name, and build it."""
    owner, _ = User.objects.get_or_create(email=f"{name}@arena.example", defaults={"username": name})
    archive = SimpleUploadedFile("archive.zip", packed(image))
    made = agent_create(owner=owner, environment=environment, name=name, is_public=False, archive=archive)
    run(Build.objects.get(submission=made))
    made.refresh_from_db()
    return made


def packed(image: str) -> bytes:
    with pack_image(image) as file:
        return file.read()


def why(submission: Submission) -> tuple[str, str]:
    build = submission.latest_build
    assert build is not None
    assert build.state == JobState.FAILED, build.log
    assert build.fault == JobFault.PLAYER
    return build.error_code, build.error


def test_an_image_plays_like_a_zip_and_stays_what_its_tag_meant(
    client: docker.DockerClient, server: RegistryServer, small: str, environment: Environment
) -> None:
    name = pushed(client, server, small, "v1", {"app/player.py": FIRST, "usr/bin/su": "#!/bin/sh\n"})
    first = submitted(environment, "first", name)
    assert (first.form, first.needs_fresh_container) == (SubmissionForm.IMAGE, True)
    build = first.latest_build
    assert build is not None
    assert build.state == JobState.SUCCEEDED, build.log
    assert build.base_image.startswith(f"{server.registry.repository}@sha256:")
    found = client.images.get(first.image_digest).attrs["Config"]
    assert not found["Entrypoint"]
    assert (found["User"], found["Volumes"]) == ("", None)
    # What was pulled is gone again. Other tests make images at the same time, so only those of this registry count.
    digests = [name for image in client.api.images(all=True) for name in image["RepoDigests"] or ()]
    assert not [name for name in digests if name.startswith(server.registry.repository)]
    upload(environment, "last", LAST)
    deliver_messages()
    duel = Duel.objects.get()
    assert duel.state == JobState.SUCCEEDED, duel.error
    validation = Validation.objects.get(submission=first)
    assert validation.state == JobState.SUCCEEDED, validation.log
    rival = upload(environment, "same", FIRST)
    deliver_messages()
    # Its results are those of the same program in a zip.
    results = {
        (one.player_1_wins, one.draws, one.player_2_wins)
        for one in Duel.objects.filter(player_1__in=(first, rival)).filter(player_2__agent__name="last")
    } | {
        (one.player_2_wins, one.draws, one.player_1_wins)
        for one in Duel.objects.filter(player_2__in=(first, rival)).filter(player_1__agent__name="last")
    }
    assert len(results) == 1, results

    pushed(client, server, small, "v1", {"app/player.py": LAST})
    again = submission_rebuild(submission=first)
    run(again)
    again.refresh_from_db()
    assert (again.state, again.base_image) == (JobState.SUCCEEDED, build.base_image)


def test_an_image_with_an_old_python_plays(
    client: docker.DockerClient, server: RegistryServer, small: str, environment: Environment
) -> None:
    """With the oldest of this machine; without any, with that of the base."""
    python = next(iter(older_pythons()), None)
    says = FIRST.replace("class Player", "import sys\nprint(sys.version_info[1])\nclass Player", 1)
    base = small if python is None else with_python(client, small, python)
    name = pushed(client, server, base, "old", {"app/player.py": says})
    old = submitted(environment, "old", name)
    upload(environment, "last", LAST)
    deliver_messages()
    duel = Duel.objects.get()
    assert duel.state == JobState.SUCCEEDED, duel.error
    assert (duel.player_1_errors, duel.player_2_errors) == (0, 0)
    log = duel.player_1_log if duel.player_1 == old else duel.player_2_log
    minor = "11" if python is None else python.name.partition(".")[2]
    with log.open() as file:
        assert file.read().split()[0] == minor.encode()


def test_images_that_mean_harm_are_refused_or_lose(
    client: docker.DockerClient, server: RegistryServer, small: str, environment: Environment, settings: Settings
) -> None:
    def make(tag: str, files: Mapping[str, File], **labels: str) -> Submission:
        return submitted(environment, tag, pushed(client, server, small, tag, files, **labels))

    assert why(make("script", {"usr/bin/python3.11": "#!/bin/sh\nsleep 100\n", "app/player.py": FIRST}))[0] == (
        "image_not_playable"
    )
    assert "no player.py" in why(make("rooted", {"app": ("/", "link"), "player.py": FIRST}))[1]
    labelled = make(
        "label", {"srv/p/agent.py": FIRST, "app/player.py": "raise SystemExit"}, **{"arena.player": "/srv/p"}
    )
    assert "The player is in /srv/p" in Build.objects.get(submission=labelled).log
    many = make("many", {"app/player.py": FIRST, **{f"srv/{number}": "" for number in range(40_000)}})
    assert Build.objects.get(submission=many).state == JobState.SUCCEEDED
    assert why(submitted(environment, "none", f"{server.registry.repository}:never"))[0] == "image_missing"
    settings.IMAGE_MAX_BYTES = 1 << 20
    assert why(make("large", {"app/player.py": FIRST}))[0] == "image_too_large"
    settings.IMAGE_MAX_BYTES = 1 << 30

    # The Python of the image is the submission's, so what it does before the arena's code is the player's fault.
    for tag, program in (
        ("leaves", "import os\nos._exit(0)"),
        ("hangs", "import time\ntime.sleep(1000)"),
        ("lies", LIES),
    ):
        hostile = make(tag, {"app/player.py": FIRST, "usr/lib/python3.11/sitecustomize.py": program})
        assert Build.objects.get(submission=hostile).state == JobState.SUCCEEDED
        validation = Validation.objects.get(submission=hostile)
        run(validation)
        validation.refresh_from_db()
        assert (validation.state, validation.fault) == (JobState.FAILED, JobFault.PLAYER), (tag, validation.log)


LIES = """
import json, os, socket, struct
control = socket.socket(socket.AF_UNIX)
control.connect("/channel/control.sock")
def say(**message):
    data = json.dumps(message).encode()
    control.sendall(struct.pack("<IB", len(data) + 1, 1) + data)
say(event="loaded", warm=True)
say(event="printed", text="x" * 1000000)
control.recv(100)
say(event="ended", clean=True, oom=[], status={}, log={"a": 1})
os._exit(0)
"""
"""Speaks as the arena's supervisor would."""
