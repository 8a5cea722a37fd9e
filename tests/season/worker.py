"""What `manage.py run_workers` runs, with places where the driver can catch a worker in the act.

Only the benchmark starts workers by this module; the arena itself knows nothing of it. A place is armed by a file
`arm-PLACE-NUMBER` in the folder of the variable FAULTS_HOOKS. The worker that comes by takes it (one alone can), says
in `hit-NUMBER` who and where it is, and waits until it is killed, or stopped and told to go on by `go-NUMBER`.
"""

from __future__ import annotations

import functools
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

PLACES = ("mid-build", "mid-duel", "artifact-stored", "result-written", "half-written")
WAIT_SECONDS = 30.0
CLOCK_SECONDS = 0.5
folder = Path(os.environ.get("FAULTS_HOOKS", "/nonexistent"))


def come_by(place: str, **facts: object) -> None:
    """Wait here if the driver wants to catch a worker at this place."""
    for armed in folder.glob(f"arm-{place}-*"):
        number = armed.name.rpartition("-")[2]
        part = folder / f"part-{number}"
        try:
            armed.rename(part)
        except FileNotFoundError:
            continue
        part.write_text(json.dumps({"pid": os.getpid(), "place": place, "worker": os.environ["FAULTS_NAME"], **facts}))
        part.rename(folder / f"hit-{number}")
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline and not (folder / f"go-{number}").exists():
            time.sleep(0.01)
        return


def about(job: Any) -> dict[str, object]:
    """What the driver needs to know of a job."""
    return {"kind": job.KIND, "job": job.pk, "token": str(job.claim_token), "attempt": job.attempt}


def install() -> None:
    """Put the places into the code that this process will run."""
    import builder.tasks
    import duel_runner.tasks
    from core.jobs.lease import Lease
    from core.models import Duel
    from duel_runner import workplace

    # What is put in another's place has no type that could be checked.
    recipe: Any = sys.modules["arena_kit.image.docker_recipe"]
    tasks: Any = duel_runner.tasks
    pulses: Any = Lease

    current: list[Any] = []

    def of_current(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(job: Any, *arguments: Any, **named: Any) -> Any:
            current[:] = [job]
            try:
                return function(job, *arguments, **named)
            finally:
                current.clear()

        return wrapped

    performed = ((builder.tasks, "build_image"), (duel_runner.tasks, "play_duel"), (duel_runner.tasks, "validate"))
    for module, name in performed:
        setattr(module, name, of_current(getattr(module, name)))

    folder_layer = recipe.folder_layer

    def layer(*arguments: Any) -> Iterator[bytes]:
        for number, piece in enumerate(folder_layer(*arguments)):
            if number == 1 and current:
                # The container of the layer is made, its content half sent.
                come_by("mid-build", **about(current[0]))
            yield piece

    recipe.folder_layer = layer
    progress = pulses.progress

    def show(lease: Any, **fields: object) -> None:
        job, done = lease._job, fields.get("matches_done")
        if isinstance(job, Duel) and isinstance(done, int) and 0 < done < job.match_count:
            owner = workplace.workplace_of_this_worker()._lock_file.token
            players = [str(job.player_1_id), str(job.player_2_id)]
            come_by("mid-duel", **about(job), done=done, of=job.match_count, owner=owner, players=players)
        progress(lease, **fields)

    pulses.progress = show
    succeed = tasks.duel_succeed

    def duel_succeed(*, duel: Duel, **named: Any) -> None:
        come_by("artifact-stored", **about(duel))
        succeed(duel=duel, **named)
        come_by("result-written", **about(duel))

    tasks.duel_succeed = duel_succeed

    def caught(name: str) -> Any:
        is_armed = name.endswith("records.zip") and list(folder.glob("arm-half-written-*"))
        return current[0] if is_armed and current else None

    if os.environ.get("STORAGE", "local") == "local":
        from core.files.storage import LocalStorage

        install_half(LocalStorage, half_written, caught)
    else:
        from core.files.object_storage import ObjectStorage

        install_half(ObjectStorage, half_sent, caught)
    install_clock()


def install_clock() -> None:
    """Let every worker process show its clock from its beginning on."""
    import core.jobs.loop

    begin: Any = core.jobs.loop
    in_own_folder = begin.work_in_own_folder

    def begun() -> None:
        in_own_folder()
        show_clock()

    begin.work_in_own_folder = begun


def install_half(stores: Any, half: Callable[..., AbstractContextManager[Any]], caught: Callable[[str], Any]) -> None:
    """Catch a worker that has stored half of a file, as `half` does with it. caught: the job whose file is caught."""
    save = stores._save

    def half_saved(storage: Any, name: str, content: Any) -> str:
        if job := caught(name):
            data = content.read()
            content.seek(0)
            with half(storage, name, data):
                come_by("half-written", **about(job), name=name, size=len(data))
        return str(save(storage, name, content))

    stores._save = half_saved


@contextmanager
def half_written(storage: Any, name: str, data: bytes) -> Iterator[None]:
    """Have half of a file in a folder."""
    # As by a writer that is killed between two writes: the library's own has a buffer as large as these files.
    path = Path(storage.path(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data[: len(data) // 2])
    yield
    path.unlink()


@contextmanager
def half_sent(storage: Any, name: str, data: bytes) -> Iterator[socket.socket]:
    """Send the first half of a file to an object store, and hang up with the block."""
    place = urlsplit(storage._client.generate_presigned_url("put_object", Params=storage._at(name)))
    head = [f"PUT {place.path}?{place.query} HTTP/1.1", f"Host: {place.netloc}", f"Content-Length: {len(data)}"]
    with socket.create_connection((place.hostname or "", place.port or 80)) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + data[: len(data) // 2])
        yield connection


def show_clock() -> None:
    """Let the driver see what a worker process takes for the time."""

    def run() -> None:
        clock = folder / f"clock-{os.environ['FAULTS_NAME']}"
        while True:
            part = clock.with_name(f"part-{clock.name}-{os.getpid()}")
            part.write_text(f"{os.getpid()} {time.time()}")
            part.rename(clock)
            time.sleep(CLOCK_SECONDS)

    threading.Thread(target=run, name="clock", daemon=True).start()


def hurry() -> None:
    """Let a scaler look every two seconds, and give up after one minute on a host that it has not created."""
    from datetime import timedelta

    from core.management.commands import autoscale
    from core.operations.scaling import scaler

    # What is put in another's place has no type that could be checked.
    command, module, look = (cast("Any", one) for one in (autoscale, scaler, scaler.Scaler.look))
    command.LOOK_SECONDS, module.CREATION = 2, timedelta(minutes=1)
    look.__kwdefaults__["every"] = timedelta(seconds=1)


def main() -> None:
    """Run as `manage.py` does, with the places."""
    import django

    django.setup()
    if "autoscale" in sys.argv:
        hurry()
    else:
        install()
    from django.core.management import execute_from_command_line

    queues = [os.environ["FAULTS_QUEUE"]] if "run_workers" in sys.argv[1:2] and len(sys.argv) == 2 else []
    execute_from_command_line(["manage.py", *sys.argv[1:], *queues])


if __name__ == "__main__":
    main()
