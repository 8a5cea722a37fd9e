"""A small OpenID Connect provider on this machine, which says of people what a test wants it to say.

It is a real one as far as this site can see: discovery, codes that work once, PKCE, the client's secret, and ID tokens
that it signs (RS256).
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "arena", "a-secret-of-the-client"


@dataclass
class Provider:
    """A running provider. claims: what it says of the person who comes. forged: claims that only its ID tokens have."""

    address: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    forged: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048))

    def authorize(self, asked: dict[str, str]) -> str:
        """Return the address to which the provider sends a person back, who has just logged in there."""
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, sent: dict[str, str]) -> dict[str, Any] | None:
        """Return the tokens for a code; None for a wrong or used code, secret or verifier."""
        asked = self.codes.pop(sent.get("code", ""), None)
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge or sent.get("client_secret") != SECRET:
            return None
        now = int(time.time())
        said = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 60, **self.claims, **self.forged}
        id_token = jwt.encode(said, self.key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": "opens-userinfo", "token_type": "Bearer", "expires_in": 60, "id_token": id_token}

    def answer(self, path: str, sent: dict[str, str]) -> Any:
        match path:
            case "/.well-known/openid-configuration":
                paths = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
                found = {f"{name}_endpoint": f"{self.address}/{end}" for name, end in paths.items()}
                return {"issuer": self.address, "jwks_uri": f"{self.address}/jwks", **found}
            case "/token":
                return self.token(sent)
            case "/userinfo":
                return self.claims
            case "/jwks":
                key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
                return {"keys": [{**key, "kid": "one", "use": "sig", "alg": "RS256"}]}
            case "/user":
                # What GitHub says, which knows no OpenID Connect.
                return {"id": 17, "login": self.claims["preferred_username"], "email": None}
            case "/user/emails":
                row = {"email": self.claims["email"], "verified": self.claims["email_verified"], "primary": True}
                return [row]
        return None


@contextmanager
def provider_running() -> Iterator[Provider]:
    provider = Provider()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(provider.answer(urlsplit(self.path).path, {}))

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._send(provider.answer(urlsplit(self.path).path, {name: one[0] for name, one in sent.items()}))

        def _send(self, said: Any) -> None:
            body = json.dumps(said or {"error": "invalid_grant"}).encode()
            self.send_response(200 if said else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        provider.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
