"""The git repository that shows the sources of public agents.

Commits are made of blobs and trees in a bare repository. There is no working tree, so attributes, ignore files,
filters, links and hooks have no effect, whether they come from an upload or from the repository.
"""

from __future__ import annotations

import fcntl
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from publisher.git import Git, GitError
from publisher.remote import Remote
from publisher.troubles import RACE_LOST

PUSH_ATTEMPTS = 4
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Author:
    """The author of every commit."""

    name: str = "RL Arena"
    mail: str = "arena@localhost"

    @property
    def variables(self) -> dict[str, str]:
        fields = {"NAME": self.name, "EMAIL": self.mail}
        return {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in fields.items()}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of the remote branch, as a change finds them. commit: empty if there is no branch yet."""

    git: Git
    commit: str
    paths: frozenset[str]

    def text(self, path: str) -> str:
        """Return a file's text; empty if there is none."""
        return self.git.run("cat-file", "blob", f"{self.commit}:{path}") if path in self.paths else ""


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a commit.

    removed: folders and files. files: what is added or replaced, by path, each a file on this disk.
    """

    removed: tuple[str, ...] = ()
    files: Mapping[str, Path] = field(default_factory=dict)

    def removes(self, path: str) -> bool:
        """Return whether a file goes, unless it is added again."""
        return any(path == gone or path.startswith(f"{gone}/") for gone in self.removed)


@dataclass(frozen=True, slots=True)
class Repository:
    """A remote repository and the bare copy of it in `folder`, which workers of this host share."""

    folder: Path
    remote: str
    branch: str
    git: Git
    author: Author = Author()

    @classmethod
    def at(cls, folder: Path, *, remote: Remote, branch: str, author: Author = Author()) -> Repository:
        """Return the repository with git's default time-outs."""
        git = Git(folder, secrets=remote.secrets, variables=remote.variables)
        return cls(folder, remote.address, branch, git, author)

    def change(self, plan: Callable[[Snapshot], Change], *, message: str, before_push: Callable[[], None]) -> str:
        """Change the remote branch as `plan` says; return its commit. Raises GitError.

        Without a difference there is no new commit, so doing it twice does no harm. `plan` is asked again whenever
        another push was quicker. `before_push` may raise to stop.
        """
        with self._locked():
            for attempt in range(1, PUSH_ATTEMPTS + 1):
                parent = self._fetch()
                commit = self._commit(plan, message, parent)
                before_push()
                try:
                    if commit != parent:
                        self._push(f"{commit}:{self._ref}")
                except GitError as error:
                    if attempt == PUSH_ATTEMPTS or error.code != RACE_LOST:
                        raise
                else:
                    return commit
        raise AssertionError("unreachable: the last attempt returns or raises")

    def try_out(self) -> bool:
        """Push an empty commit to a branch of its own, and remove that; return whether ours exists. Raises GitError."""
        with self._locked():
            exists = bool(self._fetch())
            tree = self.git.run("hash-object", "-w", "-t", "tree", "--stdin").strip()
            commit = self._commit_tree(tree, "", "Try whether the arena may push")
            scratch = f"refs/heads/arena-check-{secrets.token_hex(4)}"
            self._push(f"{commit}:{scratch}")
            self._push(f":{scratch}")
        return exists

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.folder.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # We hold our lock, so git's locks come from a git that was killed with its worker, and would block ours.
            for left in self.folder.rglob("*.lock"):
                left.unlink(missing_ok=True)
            if not (self.folder / "HEAD").exists():
                self.git.run("init", "--quiet", "--bare", "--template=", str(self.folder))
            yield

    def _fetch(self) -> str:
        """Fetch the remote branch; return its commit, empty if there is no such branch yet."""
        found = self.git.run("ls-remote", "--heads", "--", self.remote, self._ref, network=True)
        if not found.strip():
            return ""
        self.git.run(
            "fetch", "--quiet", "--depth=1", "--no-tags", "--", self.remote, f"+{self._ref}:{self._ref}", network=True
        )
        return self.git.run("rev-parse", "--verify", f"{self._ref}^{{commit}}").strip()

    def _commit(self, plan: Callable[[Snapshot], Change], message: str, parent: str) -> str:
        with tempfile.TemporaryDirectory(prefix="arena-index-") as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self.git.run("read-tree", parent or "--empty", variables=index)
            listing = self.git.run("ls-files", "-z", variables=index).split("\0")
            paths = frozenset(path for path in listing if path)
            change = plan(Snapshot(self.git, parent, paths))
            # --no-filters keeps the bytes unchanged. One path per line is safe: names have no control characters.
            files = "".join(f"{file.resolve()}\n" for file in change.files.values())
            blobs = self.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", data=files).split()
            gone = (f"0 {'0' * 40}\t{path}\0" for path in sorted(paths) if change.removes(path))
            fresh = (f"100644 {blob}\t{path}\0" for blob, path in zip(blobs, change.files, strict=True))
            self.git.run("update-index", "-z", "--index-info", data="".join((*gone, *fresh)), variables=index)
            tree = self.git.run("write-tree", variables=index).strip()
        if parent and tree == self.git.run("rev-parse", "--verify", f"{parent}^{{tree}}").strip():
            return parent
        return self._commit_tree(tree, parent, message) if parent or change.files else ""

    def _commit_tree(self, tree: str, parent: str, message: str) -> str:
        parents = ["-p", parent] if parent else []
        data, variables = f"{message}\n", self.author.variables
        return self.git.run("commit-tree", *parents, "-F", "-", tree, data=data, variables=variables).strip()

    def _push(self, what: str) -> None:
        # Never forced, so that other people's commits are kept; `change` tries again after a lost race.
        self.git.run("push", "--quiet", "--no-verify", "--", self.remote, what, network=True)

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"


def agent_folder(environment: str, agent: str) -> str:
    """Return the folder of an agent. Raises GitError for names that cannot be folders."""
    if not (NAME.fullmatch(environment) and NAME.fullmatch(agent)):
        raise GitError("The name of the environment or agent cannot be a folder.", code="bad_name")
    return f"{environment}/{agent}"
