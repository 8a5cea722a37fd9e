"""The errors of git, ssh and code hosts: a typed code, and what an operator can do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trouble:
    """A kind of failure. said: words in lower case, any of which tells it. advice: a sentence; empty if none helps."""

    code: str
    said: tuple[str, ...]
    advice: str = ""


RACE_LOST = "race_lost"
TROUBLES = (
    Trouble(
        RACE_LOST,
        ("non-fast-forward", "fetch first", "stale info", "failed to update ref", "cannot lock ref"),
        "Others push to the same branch all the time; it is tried again.",
    ),
    Trouble(
        "host_changed",
        ("remote host identification has changed",),
        "The server shows another key than known_hosts has: ask its operator whether the key was changed, and only "
        "then replace the line.",
    ),
    Trouble(
        "host_unknown",
        ("host key verification failed", "host key is known for"),
        "Put the server's key into known_hosts in the folder of ssh: ssh-keyscan prints it, and the server's operator "
        "can confirm it.",
    ),
    Trouble(
        "key_refused",
        ("permission denied (", "no such identity", "too many authentication failures", "unprotected private key"),
        "The server takes none of the keys in the folder of ssh: give the public key write access to the repository, "
        "and let only the worker's user read the private key.",
    ),
    Trouble(
        "token_refused",
        ("authentication failed", "could not read username", "could not read password", "error: 401", "error: 403"),
        "The server refuses the user or the token of PUBLISHER_REMOTE: it may have expired, or may not write to this "
        "repository.",
    ),
    Trouble(
        "certificate_refused",
        ("ssl certificate problem", "certificate verification failed", "server certificate"),
        "The server's certificate is not trusted here: GIT_SSL_CAINFO names a file with your own authority.",
    ),
    Trouble(
        "address_moved",
        ("unable to update url base from redirection", "requested url returned error: 30"),
        "The address leads to another one: put that one into PUBLISHER_REMOTE.",
    ),
    Trouble(
        "repository_full",
        ("no space left on device", "disk quota exceeded", "repository size", "exceeds", "unpacker error"),
        "The server has no room for the commit: enlarge its quota, or point PUBLISHER_REMOTE at a new repository.",
    ),
    Trouble(
        "branch_protected",
        ("protected branch", "hook declined", "remote rejected", "not allowed to push"),
        "The server refuses commits to the branch main: let this key or token push to it.",
    ),
    Trouble(
        "repository_missing",
        ("repository not found", "does not appear to be a git repository", "error: 404", "not found", "does not exist"),
        "There is no such repository, or this key or token may not read it.",
    ),
    Trouble(
        "remote_unreachable",
        (
            "could not resolve host",
            "connection refused",
            "connection timed out",
            "network is unreachable",
            "failed to connect",
            "couldn't connect",
            "no route to host",
            "connection reset",
            "hung up unexpectedly",
            "could not read from remote",
        ),
        "The server does not answer: look at the address, the firewall and the server.",
    ),
)
"""Looked through in this order: a refusal of ssh, for example, also says that the remote cannot be read."""
UNKNOWN = Trouble("git_failed", ())


def trouble_of(said: str) -> Trouble:
    """Return the kind of failure that git's words tell."""
    lowered = said.lower()
    return next((trouble for trouble in TROUBLES if any(words in lowered for words in trouble.said)), UNKNOWN)
