"""What tests need of the machine (an engine, Redis, a browser, a network), and a sentence about what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from django.conf import settings

REQUIRED = frozenset(word for word in os.environ.get("ARENA_REQUIRE", "").replace(" ", "").split(",") if word)
"""Kinds of helpers whose absence is a failure instead of a skipped test; `all` forbids every skip.

`-KIND` leaves the tests out that need it: for a machine whose engine is not ours to change.
"""
LEFT_OUT = frozenset(word[1:] for word in REQUIRED if word.startswith("-"))


SECOND_BASE_IMAGE = "rl-arena-base-3.13"
SCRIPT_IMAGE = "rl-arena-script"
APP_IMAGE = "rl-arena-app-node"
WIKI_IMAGE = "rl-arena-app-mediawiki"
BROWSER_IMAGE = "rl-arena-browser"
"""What make-base-image.sh and make-script-image.sh make with the names that the documentation gives them."""


CLUSTER_CACHE = Path(os.environ.get("KUBE_CACHE") or Path(os.environ.get("CACHE", "/var/cache/rl-arena")) / "kube-up")
"""Where tests/kubernetes/kube-up keeps what it has built."""


@cache
def missing_docker() -> str:
    """Why tests with containers cannot run; empty when they can."""
    return _missing_image(settings.PLAYER_BASE_IMAGE, "make-base-image.sh")


@cache
def missing_second_base() -> str:
    """Why tests with a second base image cannot run; empty when they can."""
    return _missing_image(SECOND_BASE_IMAGE, f"NAME={SECOND_BASE_IMAGE} SUITE=trixie make-base-image.sh")


@cache
def missing_script_image() -> str:
    """Why tests with learning libraries cannot run; empty when they can."""
    return _missing_image(SCRIPT_IMAGE, "make-script-image.sh")


@cache
def missing_app_images() -> str:
    """Why tests with the base images of application services cannot run; empty when they can."""
    return _missing_image(APP_IMAGE, "make-app-images.sh")


@cache
def missing_wiki_image() -> str:
    """Why tests with the package of MediaWiki cannot run; empty when they can."""
    return missing_app_images() or _missing_image(WIKI_IMAGE, "make-mediawiki-image.sh")


@cache
def missing_browser_image() -> str:
    """Why tests with the browser of rollouts cannot run; empty when they can."""
    return missing_docker() or _missing_image(BROWSER_IMAGE, "make-browser-image.sh")


def _missing_image(name: str, command: str) -> str:
    from docker.errors import DockerException, ImageNotFound

    from arena_kit.image.engine import NoEngine, connect

    try:
        client = connect(60)
        try:
            client.ping()
            client.images.get(name)
        finally:
            client.close()
    except ImageNotFound:
        return f"the image {name} is missing: run {command} in arena_kit/image/base"
    except (NoEngine, DockerException, OSError) as error:
        return str(error)
    return ""


@cache
def missing_gvisor() -> str:
    """Why tests under gVisor cannot run; empty when they can."""
    if reason := missing_docker():
        return reason
    from arena_kit.image.engine import connect

    client = connect(60)
    try:
        return (
            ""
            if "runsc" in client.info()["Runtimes"]
            else "the engine has no runtime runsc: see docs/operator/configure.md"
        )
    finally:
        client.close()


def remove_images(prefix: str) -> None:
    """Remove what the tests of this run have built on the engine."""
    from docker.errors import ImageNotFound

    from arena_kit.image.engine import connect

    client = connect()
    try:
        # Not `images.list`, which asks for each again while other runs remove theirs.
        tags = [tag for image in client.api.images() for tag in image["RepoTags"] or ()]
        for tag in tags:
            if tag.startswith((f"{prefix}:", f"{prefix}-")):
                with suppress(ImageNotFound):
                    client.images.remove(tag, force=True)
    finally:
        client.close()


@cache
def missing_postgres() -> str:
    engine = settings.DATABASES["default"]["ENGINE"]
    return "" if engine.endswith("postgresql") else "the database under test is not PostgreSQL"


@cache
def missing_redis() -> str:
    if os.environ.get("ARENA_TEST_REDIS_URL") or shutil.which("redis-server"):
        return ""
    return "redis-server is not installed and ARENA_TEST_REDIS_URL is not set"


@cache
def chromium() -> str:
    """Path of a Chromium, empty when there is none."""
    names = (os.environ.get("ARENA_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), "")


@cache
def missing_browser() -> str:
    return "" if chromium() else "Chromium is not installed"


@cache
def minibrowser() -> str:
    """Path of WebKit's small browser, which belongs to its driver; empty when there is none."""
    return next((str(path) for path in Path("/usr").glob("lib*/**/webkit2gtk-*/MiniBrowser")), "")


@cache
def missing_firefox() -> str:
    return "" if shutil.which("firefox-esr") else "firefox-esr is not installed"


@cache
def missing_webkit() -> str:
    """Why tests in WebKit cannot run; empty when they can."""
    missing = [name for name in ("WebKitWebDriver", "Xvfb") if not shutil.which(name)]
    return f"{missing[0]} is not installed" if missing else ""


@cache
def missing_network() -> str:
    command = [sys.executable, "-m", "pip", "--no-input", "index", "versions", "idna", "--retries", "0"]
    # Where it has to be there, one refusal is not the end.
    for _ in range(3 if REQUIRED & {"network", "all"} else 1):
        try:
            answer = subprocess.run(command, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            continue
        if answer.returncode == 0:
            return ""
    return "no package index can be reached"


@cache
def missing_registry() -> str:
    return "" if shutil.which("docker-registry") else "docker-registry is not installed"


@cache
def missing_cluster() -> str:
    """Why tests on a real Kubernetes cannot run; empty when they can."""
    if not (CLUSTER_CACHE / "bin" / ".done").exists():
        return f"no Kubernetes is built in {CLUSTER_CACHE}: tests/kubernetes/kube-up build"
    return "" if os.geteuid() == 0 else "a real Kubernetes needs root"


@cache
def missing_nginx() -> str:
    return "" if shutil.which("nginx") else "nginx is not installed"


@cache
def missing_prometheus() -> str:
    names = ("prometheus", "promtool", "prometheus-alertmanager", "amtool")
    missing = [name for name in names if not shutil.which(name)]
    return f"{missing[0]} is not installed" if missing else ""


@cache
def missing_age() -> str:
    return "" if shutil.which("age") else "age is not installed"


@cache
def missing_sshd() -> str:
    return "" if Path("/usr/sbin/sshd").exists() else "openssh-server is not installed"


@cache
def missing_pebble() -> str:
    missing = [name for name in ("pebble", "pebble-challtestsrv", "certbot", "openssl") if not shutil.which(name)]
    return f"{missing[0]} is not installed" if missing else ""


@cache
def missing_cloud_init() -> str:
    missing = [name for name in ("cloud-init", "systemd-analyze") if not shutil.which(name)]
    return f"{missing[0]} is not installed" if missing else ""


MISSING: dict[str, Callable[[], str]] = {
    "docker": missing_docker,
    "gvisor": missing_gvisor,
    "second_base": missing_second_base,
    "script_image": missing_script_image,
    "app_images": missing_app_images,
    "wiki_image": missing_wiki_image,
    "browser_image": missing_browser_image,
    "postgres": missing_postgres,
    "redis": missing_redis,
    "cluster": missing_cluster,
    "nginx": missing_nginx,
    "prometheus": missing_prometheus,
    "registry": missing_registry,
    "age": missing_age,
    "sshd": missing_sshd,
    "pebble": missing_pebble,
    "cloud_init": missing_cloud_init,
    "browser": missing_browser,
    "firefox": missing_firefox,
    "webkit": missing_webkit,
    "network": missing_network,
}


@contextmanager
def redis_server(socket: Path) -> Iterator[subprocess.Popen[str]]:
    """A private Redis without network that keeps nothing, ended afterwards."""
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(socket.parent)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if "ready to accept connections" in line.lower():
            break
    try:
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=10)
