"""A bare remote repository, and archives to publish."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PLAYER = "class Player: ...\n"


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote repository, read with git itself."""

    folder: Path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout

    def paths(self) -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", "main").splitlines()

    def text(self, path: str) -> str:
        return self.git("show", f"main:{path}")

    def subjects(self) -> list[str]:
        """Newest first."""
        return self.git("log", "--format=%s", "main").splitlines()

    def commit_beside(self, path: str, content: str) -> None:
        """Commit to the remote as another author."""
        worktree = self.folder.with_name("somebody-else")
        if not worktree.exists():
            self.git("worktree", "add", "--quiet", "--detach", str(worktree), "main")
        else:
            subprocess.run(["git", "-C", str(worktree), "checkout", "-q", "--detach", "main"], check=True, timeout=30)
        (worktree / path).parent.mkdir(parents=True, exist_ok=True)
        (worktree / path).write_text(content)
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@arena.example"]
        for command in (["add", "--", path], [*identity, "commit", "-q", "-m", f"Change {path}"]):
            subprocess.run(["git", "-C", str(worktree), *command], check=True, timeout=30)
        head = subprocess.run(
            ["git", "-C", str(worktree), "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=30
        )
        self.git("update-ref", "refs/heads/main", head.stdout.strip())


def new_remote(folder: Path) -> Remote:
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(folder)], check=True, timeout=30)
    return Remote(folder)


def zip_of(files: Mapping[str, str | bytes]) -> io.BytesIO:
    """Return an archive of a player and these files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, content in {"player.py": PLAYER, **files}.items():
            zipped.writestr(name, content)
    file.seek(0)
    return file
