"""Puts hostile players into a real sandbox against an honest one, and says what came of it."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from arena_kit.environment.records import Outcome
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.image.engine import NoEngine, connect
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.play import PlayedDuel, run_duel
from arena_kit.sandbox.base import Container, Launch, Sandbox, SandboxError
from arena_kit.sandbox.docker import DockerSandbox
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.sandbox.warm import WarmPlayers
from arena_kit.tests import staged
from arena_kit.tests.compiled import write_compiled
from arena_kit.tests.duels import outline
from tests.hostile.cases import CONTAINED, FOLDER, PLAYERS, Case
from tests.hostile.host import Host
from tests.hostile.loaded import Loaded

SPEC = get_spec("connect-four-v1")
SEED, MATCHES = 7, 4
LIMITS = Limits(
    memory_limit_bytes=256 << 20, move_seconds=0.5, bank_seconds=15.0, start_seconds=30.0, duel_seconds=60.0,
    log_limit_bytes=16 << 10, max_restarts=0,
)  # fmt: skip
"""Nothing is started again: a case shows its first fault, and is quick."""
BASE_IMAGE = "rl-arena-base"
LABEL = "arena.hostile"
SHIPPED = {name: (FOLDER / "probe.py").read_text() if name.endswith("probe.py") else "" for name in
           ("tests/__init__.py", "tests/hostile/__init__.py", "tests/hostile/probe.py")}  # fmt: skip
HONEST = {"player.py": (PLAYERS / "honest.py").read_text()}
STAGE = {"player.py": staged.SOURCE + "from tests.hostile import probe\n", staged.CASE: ""}
CUT_MARK_CHARACTERS = 300
Start = Callable[[Launch], Container]


@dataclass(frozen=True, slots=True)
class Report:
    """What a case came to. got: verdict. problems: why it is not as expected. dirt: what was left on the host."""

    case: Case
    sandbox: str
    got: str
    problems: tuple[str, ...]
    dirt: tuple[str, ...]
    seconds: float

    @property
    def as_expected(self) -> bool:
        return not self.problems and not self.dirt


class Arena:
    """One sandbox with an honest player, secrets to find, and folders of its own. Use it as a context."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._names = itertools.count(1)
        self._token = secrets.token_hex(4)

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            # Sockets have short paths, and players run as another user: this folder is neither deep nor private.
            self._root = Path(tempfile.mkdtemp(prefix="arena-"))
            stack.callback(shutil.rmtree, self._root)
            self._root.chmod(0o755)
            self._temporary = self._root / "t"
            self._temporary.mkdir(mode=0o755)
            channels = self._root / "c"
            self._sandbox = sandbox_of(self.kind, channels)
            self._sandbox.check()
            engine = None
            if self.kind != "process":
                engine = connect()
                stack.callback(engine.close)
            owners = ("referee", "opponent", "neighbour")
            self._secrets = [f"secret-of-{owner}-{secrets.token_hex(16)}" for owner in owners]
            self._honest = self.folder({**HONEST, "secret.txt": self._secrets[1]})
            self.folder({**HONEST, "secret.txt": self._secrets[2]})
            self._stage = self.folder(STAGE)
            # In a folder of their own and with another label: they are nothing that a case has left.
            kept = sandbox_of(self.kind, self._root / "b")
            self._honest_ones = stack.enter_context(Loaded(kept, lambda: self._launch(self._honest, "loaded")))
            self._hostile_ones = stack.enter_context(Loaded(kept, lambda: self._launch(self._stage, "loaded")))
            self._host = Host(f"{LABEL}={self._token}", (channels, self._temporary), engine)
            stack.callback(self._host.close)
            duel = self._play(self._honest, LIMITS, self._honest_ones.slot)
            if any(duel.record.summary.errors):
                raise RuntimeError(f"Two honest players cannot play in the sandbox {self.kind}:\n{duel.log}")
            self._peaceful = outline(duel.record)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def folder(self, files: Mapping[str, str], compiled: Mapping[str, str] = MappingProxyType({})) -> Path:
        """An unpacked archive with these files and the probes' own module. compiled: files by the source within.

        A compiled file whose folder is named like a zip archive is put into such an archive.
        """
        folder = self._root / f"{next(self._names)}-{secrets.token_hex(4)}"
        for name, text in {**SHIPPED, **files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name, text in compiled.items():
            path = folder / name.format(tag=sys.implementation.cache_tag)
            if path.parent.suffix != ".zip":
                write_compiled(text, path)
                continue
            with tempfile.TemporaryDirectory() as outside, zipfile.ZipFile(path.parent, "a") as archive:
                write_compiled(text, Path(outside) / path.name)
                archive.write(Path(outside) / path.name, path.name)
        return folder

    def judge(self, case: Case) -> Report:
        """Play the case's duels, then an honest one; say what differs from what the manifest expects.

        Honest players are loaded once for all cases. So is the hostile one, which takes up its case in the process of
        the duel, unless the manifest says that it needs a start of its own.
        """
        begun = time.monotonic()
        limits = replace(LIMITS, **case.limits)  # type: ignore[arg-type]  # numbers by name, from YAML
        got = ""
        problems: list[str] = []
        with contextlib.ExitStack() as stack:
            try:
                self._honest_ones.ready(2)
                if case.own_start:
                    folder = self.folder(case.files, case.compiled)
                    stack.callback(shutil.rmtree, folder)
                    # As a worker does: the second duel of a player finds the container of the first, if that can be.
                    pool = WarmPlayers(self._sandbox, capacity=2, idle_seconds=60)
                    start: Start = stack.enter_context(contextlib.closing(pool)).slot
                else:
                    folder, start = self._stage, self._hostile_ones.slot
                    self._hostile_ones.ready(1)
                    (folder / staged.CASE).write_text(case.files["player.py"], encoding="utf-8")
                self._host.accept_processes()
                for _ in range(case.duels):
                    duel = self._play(folder, limits, start)
                    got = verdict_of(duel)
                    problems += self._problems(case, duel, got, limits)
                # One of these has met the hostile player.
                after = self._play(self._honest, LIMITS, self._honest_ones.slot)
                if outline(after.record) != self._peaceful:
                    problems.append("the honest players' next duel went otherwise than before")
            except (PlatformFault, SandboxError) as error:
                got = f"platform: {error.code}"
                problems.append(f"the platform failed: {error}")
        dirt = tuple(self._host.problems())
        if problems or dirt:
            # What one case has done to them is not told again of the next.
            self._honest_ones.close()
            self._hostile_ones.close()
        return Report(case, self.kind, got, tuple(problems), dirt, time.monotonic() - begun)

    def still_starts_players(self) -> bool:
        """Return whether two honest players that are started now play as those did that were started first."""
        duel = self._play(self._honest, LIMITS, self._sandbox.launch, self._sandbox.launch)
        return outline(duel.record) == self._peaceful

    def _play(self, hostile: Path, limits: Limits, start: Start, start_honest: Start | None = None) -> PlayedDuel:
        """limits: of the duel and of the hostile player; the honest one has its own, and is loaded by default."""
        players = ((hostile, limits, start), (self._honest, LIMITS, start_honest or self._honest_ones.slot))

        def launch(player: int) -> Container:
            folder, its_limits, seat = players[player]
            return seat(self._launch(folder, "hostile", its_limits))

        with temporary_folder(self._temporary):
            return run_duel(
                SPEC, launch, names=("hostile", "honest"), seed=SEED, match_count=MATCHES, parallel_matches=MATCHES,
                limits=limits, clock=time.monotonic,
            )  # fmt: skip

    def _launch(self, folder: Path, kind: str, limits: Limits = LIMITS) -> Launch:
        """kind: `hostile` if a case must leave nothing of it, `loaded` if it outlasts the case."""
        token = self._token if kind == "hostile" else f"{self._token}-{kind}"
        return Launch(f"folder:{folder}", f"arena-{kind}-{self._token}-{next(self._names)}", limits, {LABEL: token})

    def _problems(self, case: Case, duel: PlayedDuel, got: str, limits: Limits) -> Iterator[str]:
        log, honest_log = duel.player_logs
        # Every match may end by another one of them.
        if not set(got.split(" and ")) <= set(case.verdict):
            errors = {match.error for match in duel.record.matches if match.error}
            yield f"the verdict is {got}, not {' or '.join(case.verdict)}: {' '.join(errors)[:300]}"
        said = log.splitlines()
        for line in case.lines:
            if not any(re.fullmatch(line, heard) for heard in said):
                close = [heard for heard in said if heard.partition(":")[0] == line.replace("\\", "").partition(":")[0]]
                yield f"it did not say {line!r}{', but ' + repr(close[0]) if close else ''}"
        faulty = [match for match in duel.record.matches if match.faulty_player is not None]
        if any(match.faulty_player == 1 for match in faulty):
            yield "the honest player was blamed"
        if any(match.outcome is not Outcome.PLAYER_2 for match in faulty):
            yield "a fault did not lose the match"
        if got == CONTAINED and outline(duel.record) != self._peaceful:
            yield "the matches went otherwise than between honest players"
        if set(honest_log.split()) - {"over"}:
            yield f"the honest player said {honest_log[:100]!r}"
        if len(log) > limits.log_limit_bytes + CUT_MARK_CHARACTERS:
            yield f"the log has {len(log)} characters"
        texts = [log, duel.log, *(match.error for match in duel.record.matches)]
        yield from (f"{secret} was found" for secret in self._secrets if any(secret in text for text in texts))
        if any(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", text) for text in texts):
            yield "a text has characters that no database or no terminal should be sent"


def verdict_of(duel: PlayedDuel) -> str:
    """The typed code of the hostile player's faults; contained when it has none."""
    codes = {match.error_code for match in duel.record.matches if match.faulty_player == 0}
    # What follows from any first fault says nothing.
    own = codes - {PlayerFault.TOO_MANY_RESTARTS.value} or codes
    return " and ".join(sorted(own)) or CONTAINED


def sandbox_of(kind: str, channels: Path) -> Sandbox:
    """The sandbox of a name of `cases.SANDBOXES`."""
    if kind == "process":
        return ProcessSandbox(channels)
    return DockerSandbox(base_image=BASE_IMAGE, channel_dir=channels, runtime="runsc" if kind == "runsc" else "runc")


def offered() -> list[str]:
    """The sandboxes that this machine offers."""
    try:
        client = connect(10)
    except NoEngine:
        return ["process"]
    try:
        runtimes = client.info().get("Runtimes") or {}
    finally:
        client.close()
    return ["docker", "process", *(["runsc"] if "runsc" in runtimes else [])]


@contextlib.contextmanager
def temporary_folder(folder: Path) -> Iterator[None]:
    """Let everything of this process make its temporary files in a folder where what is left over shows."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
