"""A stand-in for a kubelet: containers of the local Docker engine that share a network and IPC namespace as in a pod.

The players' containers are real ones. The referee is a process of this machine, or a thread of the test.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
from docker.types import Mount

from arena_kit.environment.spec import Limits
from arena_kit.image.engine import connect
from arena_kit.referee.lot import DuelPart, EvaluationPart, Lot, LotPlayer, play_lot
from arena_kit.referee.part import PlayedPart, read_part
from arena_kit.referee.sealed import Reader, Writer
from arena_kit.sandbox.docker import COMMAND
from arena_kit.sandbox.startup import PLAYER_ENVIRONMENT, PLAYER_SERVER, copy_server

CLAIM = "0123abcd"
LIMITS = Limits(memory_limit_bytes=256 << 20, start_seconds=60.0, log_limit_bytes=4000)
HEADROOM_BYTES = 64 << 20
LABEL = f"arena.pods.{os.getpid()}"
FIRST_UID = 20001


class Pod:
    """A pod with one container for each source of a `player.py`."""

    def __init__(self, base_image: str, sources: Sequence[str], *, fresh: bool = False) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="arena-"))
        self._root.chmod(0o755)
        self._engine: docker.DockerClient = connect()
        self._image = base_image
        self.containers: list[Any] = []
        self.channels: list[Path] = []
        try:
            pause = self._run("sleep", ["600"], network_mode="none", ipc_mode="shareable")
            shared = f"container:{pause.id}"
            for number, source in enumerate(sources):
                self.containers.append(self._player(number, source, shared, fresh=fresh))
        except BaseException:
            self.close()
            raise

    def play(self, *parts: DuelPart | EvaluationPart, limits: Limits = LIMITS) -> dict[str, PlayedPart]:
        """Play a lot as the referee of this pod; return the parts as a driver reads them."""
        lot = Lot(
            CLAIM,
            tuple(LotPlayer(f"player-{n}", str(channel), limits) for n, channel in enumerate(self.channels, start=1)),
            duels=tuple(part for part in parts if isinstance(part, DuelPart)),
            evaluations=tuple(part for part in parts if isinstance(part, EvaluationPart)),
        )
        log = io.StringIO()
        writer = Writer(log, lot.claim)
        play_lot(Lot.read(lot.to_json()), writer)
        reader = Reader()
        reader.read(log.getvalue().splitlines())
        reader.check(writer.seal(), CLAIM)
        return {part: read_part(data) for part, data in reader.parts.items()}

    def close(self) -> None:
        for container in self._engine.containers.list(all=True, filters={"label": f"{LABEL}={self._root.name}"}):
            container.remove(force=True)
        shutil.rmtree(self._root)

    def _player(self, number: int, source: str, shared: str, *, fresh: bool) -> Any:
        channel, player = self._root / f"channel-{number}", self._root / f"player-{number}"
        for folder in (channel, player):
            folder.mkdir(mode=0o755)
        copy_server(PLAYER_SERVER, channel)
        (player / "player.py").write_text(source)
        self.channels.append(channel)
        uid = FIRST_UID + number
        arguments = [
            "--channel", "/channel", "--player", "/player", "--wipe", "/tmp", "--pod", "--pids", "64",
            "--log-limit", str(LIMITS.log_limit_bytes), "--memory-limit", str(LIMITS.memory_limit_bytes),
            *(["--fresh"] if fresh else []),
        ]  # fmt: skip
        return self._run(
            "/bin/sh",
            ["-c", COMMAND, "sh", *arguments],
            network_mode=shared,
            ipc_mode=shared,
            user=f"{uid}:{uid}",
            mounts=[
                Mount("/channel", str(channel), type="bind", read_only=True),
                Mount("/player", str(player), type="bind", read_only=True),
            ],
            # A kubelet mounts empty folders over these two, which the containers of a pod would share.
            tmpfs={"/tmp": "rw,noexec,size=64m,mode=1777", "/dev/shm": "ro,size=1m", "/dev/mqueue": "ro,size=1m"},
            mem_limit=LIMITS.memory_limit_bytes + HEADROOM_BYTES,
            memswap_limit=LIMITS.memory_limit_bytes + HEADROOM_BYTES,
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            environment={**PLAYER_ENVIRONMENT, "HOME": "/tmp"},
            working_dir="/tmp",
        )

    def _run(self, entrypoint: str, command: list[str], **options: Any) -> Any:
        return self._engine.containers.run(
            self._image,
            command,
            entrypoint=entrypoint,
            detach=True,
            init=False,
            labels={LABEL: self._root.name},
            **options,
        )


def duel(number: int = 1, players: tuple[int, int] = (0, 1), *, matches: int = 20, **limits: Any) -> DuelPart:
    """Return a duel of a lot in Tic-tac-toe."""
    return DuelPart(
        id=f"duel-{number}",
        environment="tic-tac-toe-v2",
        players=players,
        names=(f"player {players[0]}", f"player {players[1]}"),
        seed=number,
        match_count=matches,
        parallel_matches=8,
        limits=replace(LIMITS, **limits),
    )
