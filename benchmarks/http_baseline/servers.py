"""Starts Flask servers with a player, in containers or on the loopback, and plays over HTTP."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import requests

APP = Path(__file__).with_name("app.py")
PACKAGES = ("flask", "werkzeug", "jinja2", "markupsafe", "click", "itsdangerous", "blinker", "gunicorn", "packaging")
"""Flask, gunicorn and their dependencies: pure Python, so they run in any base image."""
START_SECONDS = 60.0
ONE_CONNECTION_A_REQUEST = ("--worker-class", "sync")
KEPT_CONNECTIONS = ("--worker-class", "gthread", "--threads", "1", "--keep-alive", "60")


class HttpPlayer:
    """The player contract over HTTP. post: `requests.post`, or the method of a session that keeps its connection."""

    def __init__(self, address: str, post: Callable[..., requests.Response]) -> None:
        self._address, self._post = address, post

    def start(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any]) -> int:
        """Ask for the first move of a match."""
        return int(self._ask("start", state=state.tolist(), valid_actions=valid_actions.tolist())["action"])

    def step(self, state: np.ndarray[Any, Any], valid_actions: np.ndarray[Any, Any], prev_reward: float) -> int:
        """Later moves."""
        asked = {"state": state.tolist(), "valid_actions": valid_actions.tolist(), "prev_reward": prev_reward}
        return int(self._ask("step", **asked)["action"])

    def end(self, state: np.ndarray[Any, Any], prev_reward: float) -> None:
        """Tell the player that the match is over."""
        self._ask("end", state=state.tolist(), prev_reward=prev_reward)

    def _ask(self, path: str, **values: Any) -> dict[str, Any]:
        response = self._post(f"{self._address}/{path}", json=values, timeout=30)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer


@contextlib.contextmanager
def container_server(player: Path, image: str, folder: Path, worker: Sequence[str]) -> Iterator[str]:
    """Start a Flask server in a container; return its address. folder: for the packages. worker: gunicorn's class."""
    import docker

    packages = copy_packages(folder / "packages")
    port = free_port()
    client = docker.from_env(timeout=60)
    container = client.containers.run(
        image,
        ["python3", "-m", "gunicorn", *options(worker), "--bind", f"127.0.0.1:{port}", "app:app"],
        detach=True,
        # The fastest network for HTTP: a bridge would add a proxy to every request.
        network_mode="host",
        volumes={
            str(packages): {"bind": "/packages", "mode": "ro"},
            str(APP): {"bind": "/server/app.py", "mode": "ro"},
            str(player): {"bind": "/player", "mode": "ro"},
        },
        environment={"PYTHONPATH": "/packages:/player", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"},
        working_dir="/server",
        tmpfs={"/tmp": ""},
        mem_limit="1g",
        cap_drop=["ALL"],
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, lambda: container.logs().decode("utf-8", "replace"))
        yield address
    finally:
        container.remove(force=True)
        client.close()


@contextlib.contextmanager
def process_server(player: Path, worker: Sequence[str]) -> Iterator[str]:
    """Start a Flask server as a local process; return its address."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", *options(worker), "--bind", f"127.0.0.1:{port}",
               "--pythonpath", f"{player},{APP.parent}", "app:app"]  # fmt: skip
    server = subprocess.Popen(command, cwd=APP.parent)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, lambda: "see above")
        yield address
    finally:
        server.terminate()
        server.wait(20)


def copy_packages(target: Path) -> Path:
    """Copy Flask and its dependencies into a folder that can be mounted; return it."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None, f"{name} is not installed; it is a development dependency"
        # A click.py beside the program would otherwise be taken for the package, and its whole folder copied.
        assert spec.submodule_search_locations, f"{spec.origin} is not the package {name}: move it out of the way"
        (source,) = spec.submodule_search_locations
        ignore = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(source, target / name, ignore=ignore, dirs_exist_ok=True)
    return target


def options(worker: Sequence[str]) -> list[str]:
    """Return gunicorn's options for a server with one player."""
    found = ["--workers", "1", "--log-level", "error", *worker]
    # Newer versions open a control socket by default; older ones do not know the option.
    if version("gunicorn").split(".")[0] >= "25":
        found.append("--no-control-socket")
    return found


def free_port() -> int:
    """Return a free port of the loopback interface."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def wait_for(address: str, log: Callable[[], str]) -> None:
    """Return once the server answers. Raises RuntimeError with its log if it does not."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(requests.RequestException):
            requests.get(address, timeout=5).raise_for_status()
            return
        time.sleep(0.1)
    raise RuntimeError(f"The Flask server did not start:\n{log()}")
