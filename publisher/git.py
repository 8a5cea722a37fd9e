"""Runs git without shell, prompts, hooks or foreign configuration, and with a time-out for everything."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from publisher.troubles import trouble_of

LOCAL_SECONDS = 60.0
NETWORK_SECONDS = 180.0
# Addresses such as ext::... would run any command that they name.
PROTOCOLS = "file:https:ssh"
KEPT_VARIABLES = frozenset({"GIT_SSL_CAINFO", "GIT_SSL_CAPATH"})
OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    # A process left in the background would still hold the repository after our lock is released.
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    # A password goes to the server that it was meant for, and to no other.
    "http.followRedirects=false",
)


class GitError(Exception):
    """A git command failed. The message is a sentence without credentials. code: the typed reason."""

    def __init__(self, message: str, *, code: str = "git_failed") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Git:
    """Runs git in one bare repository. secrets: never appear in a message. variables: added to each command's."""

    folder: Path
    secrets: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    local_seconds: float = LOCAL_SECONDS
    network_seconds: float = NETWORK_SECONDS
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def run(
        self, *arguments: str, data: str = "", variables: Mapping[str, str] | None = None, network: bool = False
    ) -> str:
        """Run a command with `data` as its input and return its output. Raises GitError."""
        options = [word for option in OPTIONS for word in ("-c", option)]
        seconds = self.network_seconds if network else self.local_seconds
        try:
            process = subprocess.Popen(
                ["git", *options, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**self._variables(), **(variables or {})},
                cwd=self.folder,
                # A process group, so that git's helpers (ssh, git-remote-https) end with it.
                start_new_session=True,
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error.strerror}.", code="git_missing") from None
        try:
            output, errors = process.communicate(data.encode(), timeout=seconds)
        except BaseException as error:
            # On any exception, git and its helpers must not go on alone.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(f"git {arguments[0]} took longer than {seconds:g} s.", code="git_timeout") from None
            raise
        if process.returncode != 0:
            said = self._clean(errors)
            trouble = trouble_of(errors.decode("utf-8", "replace"))
            raise GitError(f"git {arguments[0]} failed: {said} {trouble.advice}".rstrip(), code=trouble.code)
        return output.decode("utf-8", "replace")

    def _variables(self) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in self.environment.items()
            if not name.startswith("GIT_") or name in KEPT_VARIABLES
        }
        return {
            **inherited,
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "true",
            "SSH_ASKPASS": "true",
            "GIT_ALLOW_PROTOCOL": PROTOCOLS,
            "LC_ALL": "C.UTF-8",
            **self.variables,
        }

    def _clean(self, errors: bytes) -> str:
        """Return git's error message in one line, without addresses, which may contain a password."""
        text = errors.decode("utf-8", "replace")
        for secret in self.secrets:
            text = text.replace(secret, "the remote")
        text = re.sub(r"://[^/\s'\"]*@", "://", text)
        return " ".join(text.split())[:500] or "it gave no reason."
