"""Takes every protection away once: at least one hostile case must notice (`python -m tests.hostile.mutations`).

All that the cases do is bounded by themselves, so a missing wall does this host no harm.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from docker.types import Ulimit

from arena_kit.image.engine import connect
from arena_kit.sandbox import docker
from arena_kit.sandbox.docker import DockerSandbox
from tests.hostile.__main__ import set_up_django
from tests.hostile.arena import Arena, Report, offered
from tests.hostile.cases import Case, read_cases
from tests.hostile.uploads import NOWHERE, judge_upload

Patch = Callable[[], contextlib.AbstractContextManager[object]]
Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A protection, how it is taken away, and the cases of which at least one must turn red without it."""

    name: str
    sandbox: str
    take_away: Patch
    cases: tuple[str, ...]


def options(change: Callable[[Options], object]) -> Patch:
    """Change what the engine is asked for."""
    ask = DockerSandbox._options

    def changed(self: DockerSandbox, *arguments: Any) -> Options:
        found = ask(self, *arguments)
        change(found)
        return found

    return lambda: patch.object(DockerSandbox, "_options", changed)


def without(*keys: str) -> Patch:
    return options(lambda found: [found.pop(key) for key in keys])


def tmpfs(old: str, new: str) -> Patch:
    return options(lambda found: found.update(tmpfs={p: re.sub(old, new, o) for p, o in found["tmpfs"].items()}))


@contextlib.contextmanager
def networked() -> Iterator[None]:
    """A network that leads nowhere: the probes see that there is one, and then try nothing in it."""
    engine = connect()
    network = engine.networks.create(f"arena-hostile-{os.getpid()}", internal=True)
    try:
        with options(lambda found: found.update(network_mode=network.name, network_disabled=False))():
            yield
    finally:
        network.remove()
        engine.close()


def security(start: str) -> Patch:
    return options(
        lambda found: found.update(security_opt=[o for o in found["security_opt"] if not o.startswith(start)])
    )


def allowed(*calls: str) -> Patch:
    """Let calls of the kernel through whatever their arguments are."""

    def change(found: Options) -> None:
        start = "seccomp="
        profile = json.loads(next(o.removeprefix(start) for o in found["security_opt"] if o.startswith(start)))
        profile["syscalls"].append({"names": calls, "action": "SCMP_ACT_ALLOW"})
        kept = [o for o in found["security_opt"] if not o.startswith(start)]
        found.update(security_opt=[*kept, start + json.dumps(profile)])

    return options(change)


def ulimit(name: str, value: int) -> Patch:
    """Raise one limit, in the engine's options and in the player server, which sets it once more."""

    def raised(found: Options) -> None:
        found["ulimits"] = [u for u in found["ulimits"] if u.name != name] + [Ulimit(name=name, soft=value, hard=value)]

    return both(options(raised), server("supervisor.py", "process.limit_resources(self._options.data_limit)", "pass"))


def server(file: str, old: str, new: str) -> Patch:
    """Change a line of the player server that containers get."""

    @contextlib.contextmanager
    def changed() -> Iterator[None]:
        with tempfile.TemporaryDirectory(prefix="arena-") as folder:
            # The one of the moment: it may be changed already.
            original: Path = vars(docker)["PLAYER_SERVER"]
            copy = Path(shutil.copytree(original, Path(folder) / original.name))
            (copy / file).write_text(_replace((copy / file).read_text(), old, new))
            with patch("arena_kit.sandbox.docker.PLAYER_SERVER", copy):
                yield

    return changed


def both(*patches: Patch) -> Patch:
    """Take away two walls that stand one behind the other."""

    @contextlib.contextmanager
    def all_of_them() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for take_away in patches:
                stack.enter_context(take_away())
            yield

    return all_of_them


def instead(target: str, replacement: object) -> Patch:
    return functools.partial(patch, target, replacement)


def nothing(*_: object) -> None:
    """Instead of a check."""


def unescaped() -> contextlib.AbstractContextManager[object]:
    from django.template import engines

    return patch.object(engines["django"].engine, "autoescape", False)  # type: ignore[attr-defined]  # Django's own


def any_name() -> contextlib.AbstractContextManager[object]:
    from core.models.agent import agent_name

    return patch.object(agent_name, "regex", re.compile(""))


def raw_markdown() -> contextlib.AbstractContextManager[object]:
    from markdown_it import MarkdownIt

    from web.templatetags import arena

    raw = patch.object(arena, "_markdown", lambda: MarkdownIt("commonmark", {"html": True}))
    return both(lambda: raw, instead("nh3.clean", lambda html, **_: html))()


def _replace(text: str, old: str, new: str) -> str:
    if old not in text:
        raise LookupError(f"{old!r} is not there any more: adapt tests/hostile/mutations.py.")
    return text.replace(old, new)


DOCKER = (
    ("no network", networked, ["network and metadata address"]),
    ("own seccomp profile", security("seccomp="), ["calls of the kernel", "sockets of every family"]),
    ("limits of the caller alone", allowed("prlimit64"), ["limiting and slowing the first process"]),
    ("priorities of the caller alone", allowed("setpriority"), ["limiting and slowing the first process"]),
    ("no new privileges", security("no-new-privileges"), ["user and powers"]),
    ("no capabilities", without("cap_drop"), ["user and powers"]),
    ("a user of its own", without("user"), ["user and powers"]),
    ("read-only root", without("read_only"), ["disk bomb"]),
    ("no shared memory", without("ipc_mode"), ["disk bomb"]),
    ("count of processes", without("pids_limit"), ["fork bomb", "thread bomb"]),
    ("memory", without("mem_limit", "memswap_limit"), ["memory bomb", "memory bomb of three children"]),
    ("first to be ended", server("supervisor.py", "process.go_first()", "pass"), ["user and powers"]),
    ("size of /tmp", tmpfs(r"size=\d+", "size=512m"), ["disk bomb"]),
    ("files in /tmp", tmpfs(r",nr_inodes=\d+", ""), ["small files without end"]),
    ("no programs in /tmp", tmpfs("noexec", "exec"), ["user and powers"]),
    ("open files", ulimit("nofile", 4096), ["descriptor bomb"]),
    ("size of a file", ulimit("fsize", 1 << 30), ["disk bomb"]),
    ("no core dumps", ulimit("core", 1 << 20), ["descriptor bomb"]),
    ("name of the host", without("hostname"), ["host name and core"]),
    (
        "unreadable supervisor",
        server("process.py", "prctl(PR_SET_DUMPABLE, 0)", "pass"),
        ["killing and reading its parent"],
    ),
    (
        "unreadable loader",
        both(
            server("loading.py", "process.prctl(process.PR_SET_DUMPABLE, 0)", "pass"),
            server(
                "process.py",
                "    except PermissionError:\n        return True\n    return False",
                "    except OSError:\n        pass\n    return True",
            ),
        ),
        ["killing and reading its parent in two duels"],
    ),
    (
        "end of a duel's processes",
        both(
            server("supervisor.py", "process.kill_others(self._loader if keep else 0) and keep", "keep"),
            # A container in which something else still runs would be given up.
            server("process.py", " and not others(spared=pid)", ""),
        ),
        ["earlier duels of its own"],
    ),
    ("end of a duel's files", server("supervisor.py", "process.wipe(folder)", "pass"), ["earlier duels of its own"]),
    (
        "no memory shared by forks",
        both(server("process.py", 'permissions.endswith("s")', "False")),
        ["memory shared with its earlier duels"],
    ),
    ("limit of the log", options(lambda o: o["command"].extend(["--log-limit", str(1 << 30)])), ["log bomb"]),
    (
        "sources alone",
        server("loading.py", "arena_sources.only_sources(folder)", "pass"),
        ["compiled files in the place of sources", "compiled files in an archive"],
    ),
    ("plain logs", instead("arena_kit.sandbox.host.plain_output", str), ["half of a surrogate"]),
    ("size of an answer", instead("arena_kit.referee.wire.MAX_ANSWER_BYTES", 1 << 40), ["answer of gigabytes"]),
    ("texts made plain", instead("arena_kit.referee.wire.plain_text", str), ["exception with NUL and surrogates"]),
)
PROCESS = (
    ("namespaces", instead("arena_kit.sandbox.process.namespace_command", lambda: ()),
     ["network and metadata address"]),
)  # fmt: skip
UPLOADS = (
    ("names in archives", instead("arena_kit.upload.zip_safety._check_names", nothing),
     ["path above the folder", "bidirectional name"]),
    ("overlap in archives", instead("arena_kit.upload.zip_safety._check_overlap", nothing), ["overlapping entries"]),
    ("kinds of entries", instead("arena_kit.upload.zip_safety._check_entry", nothing),
     ["symbolic link", "encrypted entry"]),
    ("sizes of entries", instead("arena_kit.upload.zip_safety._check_size", nothing), ["zip bomb"]),
    ("size of archives", instead("arena_kit.upload.zip_safety._check_total", nothing), ["many small zip bombs"]),
    ("compiling first", instead("tests.hostile.uploads.check_python_compiles", nothing), ["Python with NUL bytes"]),
    ("grammar of requirements", instead("arena_kit.upload.requirements._requirement", lambda line, _: line),
     ["option for source builds", "package on the web", "local folder", "option within conda's list"]),
    ("plain YAML", instead("arena_kit.upload.requirements._check_tokens", nothing), ["anchors of YAML"]),
    ("names of agents", any_name, ["markup in a name", "bidirectional override in a name"]),
    ("clean Markdown", raw_markdown, ["script in Markdown", "handler in Markdown"]),
    ("escaped pages", unescaped, ["markup in a log"]),
)  # fmt: skip
MUTATIONS = tuple(
    Mutation(name, sandbox, take_away, tuple(cases))
    for sandbox, group in (("docker", DOCKER), ("process", PROCESS), (NOWHERE, UPLOADS))
    for name, take_away, cases in group
)


def judge_without(mutation: Mutation, cases: dict[str, Case]) -> list[Report]:
    """The reports of the mutation's cases while its protection is away, in containers started without it."""
    with mutation.take_away():
        if mutation.sandbox == NOWHERE:
            return [judge_upload(cases[name]) for name in mutation.cases]
        with Arena(mutation.sandbox) as arena:
            return [arena.judge(cases[name]) for name in mutation.cases]


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 when a protection can be away without any case noticing."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.mutations", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write which cases noticed what")
    parser.add_argument("--mutation", default="", help="only those with this in their names")
    parsed = parser.parse_args(arguments)
    cases = {case.name: case for case in read_cases()}
    places = {*offered(), NOWHERE}
    noticed: dict[str, list[str]] = {}
    print(f"{'taken away':24} {'sandbox':8} noticed by")
    for mutation in MUTATIONS:
        if mutation.sandbox not in places or parsed.mutation not in mutation.name:
            continue
        red = [report for report in judge_without(mutation, cases) if not report.as_expected]
        noticed[mutation.name] = [report.case.name for report in red]
        print(f"{mutation.name:24} {mutation.sandbox:8} {', '.join(noticed[mutation.name]) or 'NO CASE'}", flush=True)
        for report in red:
            print(f"{'':33}  {(*report.problems, *report.dirt)[0][:110]}")
    unseen = [name for name, seen in noticed.items() if not seen]
    print(f"\n{len(noticed) - len(unseen)} of {len(noticed)} noticed.")
    if parsed.json is not None:
        parsed.json.write_text(json.dumps({"mutations": noticed, "all_noticed": not unseen}, indent=2) + "\n")
    return 1 if unseen or not noticed else 0


if __name__ == "__main__":
    set_up_django()
    sys.exit(main())
