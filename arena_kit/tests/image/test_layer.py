"""Layers of files on a real engine: equal files give equal layers, and no name has a special meaning."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from django.conf import settings

from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.errors import BuildFailed
from arena_kit.image.labels import PREFIX_LABEL
from arena_kit.image.layer import commit_layer, folder_layer, packages_layer

LIST = """
import os
for folder, folders, names in os.walk("/player"):
    for path in [os.path.join(folder, name) for name in folders + names]:
        found = os.lstat(path)
        print(repr(path), oct(found.st_mode), found.st_uid, found.st_gid, int(found.st_mtime))
"""
ODD = ("-rf", "é ☃", "'a\"b", "$(id)", " ", "Dockerfile", ".dockerignore", "x" * 200, "~", "a\\b", "*", ".wh")


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine() as client:
        yield client


def commit(client: docker.DockerClient, folder: Path, tag: str) -> str:
    prefix = settings.PLAYER_IMAGE_PREFIX
    base = base_image_id(client, settings.PLAYER_BASE_IMAGE)
    layer = folder_layer(folder, "player")
    return commit_layer(client, base, layer, tag=f"{prefix}:layer-{tag}", labels={PREFIX_LABEL: prefix, "x": tag})


def top_layer(client: docker.DockerClient, image: str) -> str:
    return str(client.images.get(image).attrs["RootFS"]["Layers"][-1])


@pytest.mark.docker
def test_equal_files_give_an_equal_layer_whatever_their_owner_and_time(
    client: docker.DockerClient, tmp_path: Path
) -> None:
    layers = []
    for number, (owner, mode) in enumerate(((0, 0o600), (12345, 0o777))):
        folder = tmp_path / str(number)
        (folder / "net").mkdir(parents=True)
        for name in ("player.py", "net/weights.txt")[:: 1 if number else -1]:
            (folder / name).write_text(name)
            os.chown(folder / name, owner, owner)
            (folder / name).chmod(mode)
            os.utime(folder / name, (number, time.time() - number * 1000))
        layers.append(top_layer(client, commit(client, folder, str(number))))

    assert layers[0] == layers[1]


@pytest.mark.docker
def test_odd_names_survive_and_belong_to_root_without_a_time(client: docker.DockerClient, tmp_path: Path) -> None:
    for name in ODD:
        (tmp_path / name).write_text(name)
    (tmp_path / "folder \N{SNOWMAN}" / "deep").mkdir(parents=True)

    image = commit(client, tmp_path, "odd")

    output: bytes = client.containers.run(image, ["python3", "-c", LIST], network_disabled=True, remove=True)
    files = [f"{f'/player/{name}'!r} 0o100644 0 0 0" for name in ODD]
    folders = [f"{path!r} 0o40755 0 0 0" for path in ("/player/folder \N{SNOWMAN}", "/player/folder \N{SNOWMAN}/deep")]
    assert sorted(output.decode().splitlines()) == sorted(files + folders)


@pytest.mark.docker
def test_the_container_of_a_layer_is_removed_and_its_label_is_not_inherited(
    client: docker.DockerClient, tmp_path: Path
) -> None:
    (tmp_path / "player.py").write_text("")

    image = commit(client, tmp_path, "labels")

    prefix = settings.PLAYER_IMAGE_PREFIX
    labels = client.images.get(image).labels
    assert {"x": "labels", "arena.prefix": prefix, "arena.builder": ""}.items() <= labels.items()
    assert client.api.containers(all=True, filters={"label": f"arena.builder={prefix}"}) == []


@pytest.mark.parametrize("name", [".wh.player.py", ".wh..wh..opq"])
def test_a_name_that_would_remove_others_from_the_image_fails_the_build(name: str, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / name).write_text("")

    with pytest.raises(BuildFailed, match=r"cannot be in an image") as caught:
        list(folder_layer(tmp_path, "player"))

    assert caught.value.code == "bad_name"


def packages(*entries: tuple[str, bytes, int]) -> io.BytesIO:
    """Return a tar as the engine gives it. Entries: name, kind, and size or mode."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, kind, number in entries:
            entry = tarfile.TarInfo(f"packages/{name}")
            entry.type, entry.mtime, entry.uid = kind, 5, 60700
            entry.size, entry.mode = (number, 0o755) if kind == tarfile.REGTYPE else (0, number)
            tar.addfile(entry, io.BytesIO(bytes(number)))
    file.seek(0)
    return file


def layer_of(file: io.BytesIO, most_bytes: int = 1000, most_files: int = 3) -> list[tarfile.TarInfo]:
    made = b"".join(packages_layer(file, "opt/requirements", most_bytes=most_bytes, most_files=most_files))
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        return tar.getmembers()


def test_packages_become_files_of_root_in_their_folder() -> None:
    found = layer_of(packages(("", tarfile.DIRTYPE, 0o700), ("six.py", tarfile.REGTYPE, 700)))

    assert [(entry.name, entry.size, entry.mode, entry.uid, entry.mtime) for entry in found] == [
        ("opt", 0, 0o755, 0, 0),
        ("opt/requirements", 0, 0o755, 0, 0),
        ("opt/requirements/six.py", 700, 0o755, 0, 0),
    ]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (("big", tarfile.REGTYPE, 1001), "requirements_too_large"),
        (("link", tarfile.SYMTYPE, 0o777), "requirements_failed"),
        (("link", tarfile.LNKTYPE, 0o777), "requirements_failed"),
        (("device", tarfile.CHRTYPE, 0o666), "requirements_failed"),
        ((".wh.six.py", tarfile.REGTYPE, 1), "bad_name"),
    ],
)
def test_packages_that_hold_too_much_or_no_plain_files_fail_the_build(entry: tuple[str, bytes, int], code: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        layer_of(packages(entry))

    assert caught.value.code == code


def test_too_many_files_fail_the_build() -> None:
    with pytest.raises(BuildFailed) as caught:
        layer_of(packages(*((str(number), tarfile.REGTYPE, 1) for number in range(4))))

    assert caught.value.code == "requirements_too_many_files"
