"""HTTPS, cookies and what pages may load."""

from typing import Any

from core.settings.base import EVENTS_URL, SITE_URL, env

HTTPS = SITE_URL.startswith("https://")
# Forms come from the site itself. A proxy may hide the scheme and port that people use, and SITE_URL has them.
CSRF_TRUSTED_ORIGINS = ["/".join(SITE_URL.split("/")[:3])] if "://" in SITE_URL else []
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# A program that is redirected has sent its token in plain text and does not notice: `web.site.middleware` refuses it.
SECURE_REDIRECT_EXEMPT = [r"^api/"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
HSTS_SECONDS = env.number("HSTS_SECONDS", 31536000)
SECURE_HSTS_SECONDS = HSTS_SECONDS if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
# Django's check wants `preload` in the header. A site should send it only to enter the lists of browsers, which takes
# months to undo; the proxy in front can send it (docs/operator/configure.md).
# SitePages and BeforeViews (web/site/middleware.py) do what Django's middlewares for security and X-Frame-Options and
# that of django-axes do, through whose layers each request would pass.
SILENCED_SYSTEM_CHECKS = ["security.W021", "security.W001", "security.W002", "axes.W002"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Browsers take a cookie of such a name only over HTTPS and from this host, not from a neighbour below the same domain.
_HOST = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_HOST}sessionid", f"{_HOST}csrftoken"
# Messages would otherwise travel in a cookie of their own.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
X_FRAME_OPTIONS = "DENY"
# Everything comes from this site. Pages generate the pictures of matches: data: and blob:.
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        **{name: ["'none'"] for name in ("default-src", "base-uri", "frame-ancestors")},
        **{f"{kind}-src": ["'self'"] for kind in ("script", "style", "font", "media")},
        "connect-src": ["'self'", *(["/".join(EVENTS_URL.split("/")[:3])] if "://" in EVENTS_URL else [])],
        "img-src": ["'self'", "data:", "blob:"],
        "form-action": ["'self'"],
        "upgrade-insecure-requests": HTTPS,
    }
}
