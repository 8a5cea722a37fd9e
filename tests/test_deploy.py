"""What makes a host: the script, cloud-init files and units of systemd. Terraform: test_terraform.py."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

import pytest
import yaml
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine
from tests.machine import remove_images
from tests.site_image import stand_in_build

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
DEBIAN_13 = "rl-arena-base-3.13"
SHIPPED = (
    "deploy",
    "nginx",
    "monitoring",
    "docker-compose.yml",
    "docker-compose.tls.yml",
    "docker-compose.workers.yml",
)
"""What the script and Compose read of a clone."""
FILLED = {
    "domain": "arena.example.org", "organiser_email": "olga@example.org", "release": "v0.1.0",
    "repository": "https://git.example.org/arena.git", "data_volume": "/dev/disk/by-id/volume",
    "environment": base64.b64encode(b"SECRET_KEY=x\n").decode(),
}  # fmt: skip


def done(command: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("name", ["site", "worker"])
def test_cloud_init_runs_the_script_of_a_release(name: str) -> None:
    text = Template((DEPLOY / f"cloud-init/{name}.yml").read_text()).substitute(FILLED)
    content = yaml.safe_load(text)
    clone, *_, script = content["runcmd"]
    assert clone == ["git", "clone", "--depth=1", "--branch", "v0.1.0", FILLED["repository"], "/opt/rl-arena"]
    assert script == [f"/opt/rl-arena/deploy/{Path(script[0]).name}", name]
    assert os.access(DEPLOY / Path(script[0]).name, os.X_OK)


@pytest.mark.cloud_init
@pytest.mark.nightly
def test_cloud_init_and_systemd_take_the_files(tmp_path: Path) -> None:
    for name in ("site", "worker"):
        file = tmp_path / f"{name}.yml"
        file.write_text(Template((DEPLOY / f"cloud-init/{name}.yml").read_text()).substitute(FILLED))
        checked = done(["cloud-init", "schema", "--config-file", str(file)])
        assert checked.returncode == 0, checked.stderr + checked.stdout
        unit = tmp_path / f"rl-arena-{name}.service"
        text = (DEPLOY / f"systemd/{unit.name}").read_text()
        # The check also looks whether the program is there.
        unit.write_text(text.replace("/usr/bin/docker", "/bin/true"))
        checked = done(["systemd-analyze", "verify", "--man=no", str(unit)])
        assert (checked.returncode, unit.name in checked.stderr) == (0, False), checked.stderr


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own takes root")
def test_the_script_writes_settings_with_which_the_site_starts(tmp_path: Path) -> None:
    """Its step `settings` runs for real, on a copy; what it writes outside of that is on a file system of its own."""
    copy = tmp_path / "arena"
    shutil.copytree(DEPLOY, copy / "deploy")
    places = ("/etc/rl-arena", "/var/lib/rl-arena")
    script = "set -e\n" + "".join(f"mkdir -p {place}\nmount -t tmpfs none {place}\n" for place in places)
    script += f"{copy}/deploy/debian-host.sh site\ncp /etc/rl-arena/organiser {tmp_path}\n"
    command = ["unshare", "--mount", "sh", "-c", script]
    first = done(command, STEPS="settings", DOMAIN="arena.example.org", ORGANISER_EMAIL="olga@example.org")
    assert first.returncode == 0, first.stderr

    written = (copy / ".env").read_text()
    assert (copy / ".env").stat().st_mode & 0o777 == 0o600
    variables = dict(line.split("=", 1) for line in written.splitlines())
    assert len(variables["SECRET_KEY"]) >= 50
    assert variables["SUPERUSER_PASSWORD"] == (tmp_path / "organiser").read_text().strip()
    checked = done(
        [str(ROOT / ".venv/bin/python"), "manage.py", "check"],
        **{name: value for name, value in variables.items() if name != "COMPOSE_FILE"}, DATA_DIR=str(tmp_path),
        CHANNEL_DIR=str(tmp_path),
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr

    (copy / ".env").write_text(written + "SITE_NAME=Ours\n")
    again = done(["unshare", "--mount", "sh", "-c", script.replace("cp ", "true ")], STEPS="settings")
    assert again.returncode == 0, again.stderr
    assert (copy / ".env").read_text() == written + "SITE_NAME=Ours\n", "what is there stays"


WITH_A_VOLUME = """
set -eu
for place in /etc/rl-arena /etc/docker /etc/systemd/system /srv /var/lib/docker; do
    mkdir -p $place && mount -t tmpfs none $place
done
cp /etc/fstab "$1/fstab" && mount --bind "$1/fstab" /etc/fstab
"""
ON_A_VOLUME = f"""{WITH_A_VOLUME}
STEPS=volume DATA_VOLUME=$2 deploy/debian-host.sh site
echo kept >/srv/rl-arena/docker/kept
umount /srv/rl-arena
STEPS=volume DATA_VOLUME=$2 deploy/debian-host.sh site
cat /srv/rl-arena/docker/kept /etc/docker/daemon.json /etc/systemd/system/docker.service.d/rl-arena.conf
findmnt --noheadings --output SOURCE,FSTYPE /srv/rl-arena
umount /srv/rl-arena
echo other >/etc/docker/daemon.json
STEPS=volume DATA_VOLUME=$2 deploy/debian-host.sh site && echo taken || echo refused
umount /srv/rl-arena
"""
REFUSED = f"""{WITH_A_VOLUME}
$3
STEPS=volume DATA_VOLUME=$2 deploy/debian-host.sh site && echo taken || echo refused
test -e /etc/docker/daemon.json && echo the engine is elsewhere || echo the engine stays
! mountpoint -q /srv/rl-arena || umount /srv/rl-arena
"""


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[str]:
    """A real block device without anything on it."""
    image = tmp_path / "volume"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    device = done(["losetup", "--find", "--show", str(image)]).stdout.strip()
    if not device:
        pytest.skip("this machine gives no loop device")
    yield device
    done(["losetup", "--detach", device])


def entries(folder: Path) -> list[str]:
    """How the host mounts its volume at the next start."""
    return [line for line in (folder / "fstab").read_text().splitlines() if " /srv/rl-arena " in line]


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a device of its own takes root")
def test_the_script_puts_the_engine_on_a_volume_and_keeps_what_is_there(tmp_path: Path, volume: str) -> None:
    """In a tree of mounts of its own."""
    ran = done(["unshare", "--mount", "sh", "-c", ON_A_VOLUME, "sh", str(tmp_path), volume])
    assert ran.returncode == 0, ran.stderr
    lines = [line for line in ran.stdout.splitlines() if not line.startswith("===")]
    assert lines[:3] == ["kept", '{"data-root": "/srv/rl-arena/docker"}', "[Unit]"]
    assert lines[3:] == ["RequiresMountsFor=/srv/rl-arena", f"{volume} ext4", "refused"]
    assert "Set data-root" in ran.stderr
    (entry,) = entries(tmp_path)
    assert " ext4 defaults,nofail " in entry


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a device of its own takes root")
@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        pytest.param("mkdir -p /var/lib/docker/volumes/arena_database", "keeps data in /var/lib/docker", id="data"),
        pytest.param("printf 'label: gpt\n,\n' | sfdisk -q $2", "There is no file system on", id="partitions"),
    ],
)
def test_a_volume_is_refused_if_the_next_start_would_show_an_empty_arena(
    tmp_path: Path, volume: str, before: str, sentence: str
) -> None:
    script = REFUSED.replace("$3", before)
    ran = done(["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path), volume])
    assert ran.stdout.splitlines()[1:] == ["refused", "the engine stays"], ran.stderr
    assert sentence in ran.stderr
    assert entries(tmp_path) == []


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a device of its own takes root")
def test_a_volume_with_a_file_system_is_mounted_as_what_it_is(tmp_path: Path, volume: str) -> None:
    script = REFUSED.replace(
        "$3", "mkfs.ext2 -q $2 && mkdir -p /var/lib/docker/volumes && touch /var/lib/docker/volumes/metadata.db"
    )
    ran = done(["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path), volume])
    assert ran.stdout.splitlines()[1:] == ["taken", "the engine is elsewhere"], ran.stderr
    (entry,) = entries(tmp_path)
    assert " ext2 defaults,nofail " in entry


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="the script runs as root only")
def test_a_host_of_workers_has_its_own_group_once_and_the_other_settings_as_they_are(tmp_path: Path) -> None:
    """Terraform gives the file as it is written, which may be without a line break at its end."""
    copy = tmp_path / "arena"
    shutil.copytree(DEPLOY, copy / "deploy")
    (copy / "deploy/worker/.env").write_text("DOCKER_GROUP_ID=7\nSECRET_KEY=x")
    script = "".join(
        f"mkdir -p {place} && mount -t tmpfs none {place}\n" for place in ("/etc/rl-arena", "/var/lib/rl-arena")
    )
    for _ in range(2):
        ran = done(
            ["unshare", "--mount", "sh", "-ec", f"{script}{copy}/deploy/debian-host.sh worker"], STEPS="settings"
        )
        assert ran.returncode == 0, ran.stderr
    kept, group = (copy / "deploy/worker/.env").read_text().splitlines()
    assert kept == "SECRET_KEY=x"
    assert re.fullmatch(r"DOCKER_GROUP_ID=\d+", group)


@pytest.mark.skipif(os.geteuid() != 0, reason="the script runs as root only")
def test_a_host_without_a_volume_keeps_the_engine_as_it_is(tmp_path: Path) -> None:
    script = "mkdir -p /etc/rl-arena && mount -t tmpfs none /etc/rl-arena && mount -t tmpfs none /srv"
    ran = done(["unshare", "--mount", "sh", "-c", f"{script} && deploy/debian-host.sh site && ls /srv"], STEPS="volume")
    assert (ran.returncode, ran.stdout) == (0, "=== volume\n"), ran.stderr


def test_the_runbook_of_a_lost_host_leaves_no_step_out_but_the_start() -> None:
    """Above all not the volume: what is restored before it would be on the host's own disk, and not seen later."""
    script, runbook = (DEPLOY / "debian-host.sh").read_text(), (ROOT / "docs/operator/runbooks.md").read_text()
    (steps,) = re.findall(r"^STEPS=\$\{STEPS:-([a-z ]+)\}$", script, re.MULTILINE)
    (told,) = re.findall(r'`STEPS="([a-z ]+)"`', runbook)
    assert [*told.split(), "start"] == steps.split()


def test_a_host_of_workers_is_called_as_the_arena_knows_it() -> None:
    (service,) = yaml.safe_load((DEPLOY / "worker/docker-compose.yml").read_text())["services"].values()
    assert service["hostname"].startswith("${WORKER_HOST")
    assert service["command"] == ["python", "manage.py", "run_workers", "duel"]
    unit = (DEPLOY / "systemd/rl-arena-worker.service").read_text()
    assert "EnvironmentFile=/etc/rl-arena/unit.env" in unit


HOST = """
FROM {base}
COPY etc /etc
COPY arena /opt/rl-arena
RUN STEPS=packages /opt/rl-arena/deploy/debian-host.sh site && rm -rf /var/lib/apt/lists/*
"""
AS_ON_A_HOST = """
set -eu
cd /opt/rl-arena
STEPS="firewall settings" DOMAIN=arena.example.org ORGANISER_EMAIL=olga@example.org deploy/debian-host.sh site
STEPS="firewall settings" DOMAIN=arena.example.org ORGANISER_EMAIL=olga@example.org deploy/debian-host.sh site
ufw status
docker compose config --quiet && echo compose takes the files
docker compose config --services | sort | tr '\\n' ' '
cp .env deploy/worker/.env
STEPS=settings WORKER_HOST=worker-1 deploy/debian-host.sh worker
WORKER_HOST=worker-1 docker compose --project-directory deploy/worker config --quiet && echo compose takes the worker
cat /etc/apt/apt.conf.d/20auto-upgrades
"""


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.nightly
@pytest.mark.slow
def test_the_script_makes_a_fresh_debian_13_ready() -> None:
    """Its steps up to the images run in a container of Debian 13: packages from Debian, ufw in a network of its own.

    Not tried here: what takes an engine of the host's own and systemd as its first process (images, start).
    """
    name = f"rl-arena-test-{os.getpid()}-host"
    with engine() as client:
        try:
            client.images.get(DEBIAN_13)
        except ImageNotFound:
            pytest.skip(f"there is no image {DEBIAN_13}: NAME={DEBIAN_13} SUITE=trixie make-base-image.sh")
        try:
            stand_in_build(client, name, HOST.replace("{base}", DEBIAN_13), network="host", arena=SHIPPED)
            said = client.containers.run(
                name, ["bash", "-c", AS_ON_A_HOST], network_mode="none", cap_add=["NET_ADMIN", "NET_RAW"],
                remove=True, stderr=True,
            ).decode()  # fmt: skip
        finally:
            remove_images(name)
    assert "Status: active" in said
    allowed = set(re.findall(r"^(\S+) +ALLOW", said, re.MULTILINE))
    assert allowed == {"22/tcp", "80/tcp", "443/tcp"}
    assert "compose takes the files" in said
    assert "compose takes the worker" in said
    assert "certbot" in said, "TLS is on where there is a domain"
    assert 'Unattended-Upgrade "1"' in said
