"""The git repository that shows the sources of public agents.

Commits are made of blobs and trees in a bare repository. There is no working tree, so attributes, ignore files,
filters, links and hooks have no effect, whether they come from an upload or from the repository.
"""

from __future__ import annotations

import fcntl
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from publisher.git import Git, GitError
from publisher.source import PublishedSource

PUSH_ATTEMPTS = 4
AUTHOR = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "RL Arena"), ("EMAIL", "arena@localhost"))
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# Git's words for a push that lost a race for the remote branch or its lock.
RACE_LOST = ("non-fast-forward", "fetch first", "stale info", "failed to update ref", "cannot lock ref")


@dataclass(frozen=True, slots=True)
class Repository:
    """A remote repository and the bare copy of it in `folder`, which workers of this host share."""

    folder: Path
    remote: str
    branch: str
    git: Git

    @classmethod
    def at(cls, folder: Path, *, remote: str, branch: str) -> Repository:
        """Return the repository with git's default time-outs."""
        return cls(folder, remote, branch, Git(folder, secret=remote))

    def publish(
        self, source: PublishedSource, *, environment: str, agent: str, message: str, before_push: Callable[[], None]
    ) -> str:
        """Replace `<environment>/<agent>/` on the remote branch by `source`; return the commit's id.

        Without a change there is no new commit, so publishing twice does no harm. `before_push` may raise to stop.
        Raises GitError.
        """
        for name in (environment, agent):
            if not NAME.fullmatch(name):
                raise GitError("The name of the environment or agent cannot be a folder.", code="bad_name")
        with self._locked():
            for attempt in range(1, PUSH_ATTEMPTS + 1):
                parent = self._fetch()
                commit = self._commit(source, f"{environment}/{agent}", message, parent)
                before_push()
                try:
                    if commit != parent:
                        self._push(commit)
                except GitError as error:
                    if attempt == PUSH_ATTEMPTS or not any(words in str(error) for words in RACE_LOST):
                        raise
                else:
                    return commit
        raise AssertionError("unreachable: the last attempt returns or raises")

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

    def _commit(self, source: PublishedSource, folder: str, message: str, parent: str) -> str:
        with tempfile.TemporaryDirectory(prefix="arena-index-") as scratch:
            index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
            self.git.run("read-tree", parent or "--empty", variables=index)
            old = self.git.run("ls-files", "-z", "--", f":(literal){folder}/", variables=index)
            # --no-filters keeps the bytes unchanged. One path per line is safe: names have no control characters.
            files = "".join(f"{source.folder.resolve() / path}\n" for path in source.paths)
            blobs = self.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", data=files).split()
            gone = (f"0 {'0' * 40}\t{path}\0" for path in old.split("\0") if path)
            fresh = (f"100644 {blob}\t{folder}/{path}\0" for blob, path in zip(blobs, source.paths, strict=True))
            self.git.run("update-index", "-z", "--index-info", data="".join((*gone, *fresh)), variables=index)
            tree = self.git.run("write-tree", variables=index).strip()
        if parent and tree == self.git.run("rev-parse", "--verify", f"{parent}^{{tree}}").strip():
            return parent
        parents = ["-p", parent] if parent else []
        return self.git.run("commit-tree", *parents, "-F", "-", tree, data=f"{message}\n", variables=AUTHOR).strip()

    def _push(self, commit: str) -> None:
        # Never forced, so that other people's commits are kept; `publish` retries after a lost race.
        self.git.run("push", "--quiet", "--no-verify", "--", self.remote, f"{commit}:{self._ref}", network=True)

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"
