"""The messages of the arena: mail and webhooks, and what mails about errors leave out."""

from urllib.parse import urlsplit

from core.settings.base import DEBUG, SITE_NAME, SITE_URL, env
from core.settings.mail_server import mail_server

# In lower case, so that Django does not take it for a setting: it contains a password.
mail = mail_server(env.secret("EMAIL_URL"))
EMAIL_BACKEND = mail.backend
EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail.host, mail.port, mail.user, mail.password
# Django refuses an empty one.
EMAIL_FILE_PATH = mail.folder or None
EMAIL_USE_TLS, EMAIL_USE_SSL = mail.starts_tls, mail.is_tls
DEFAULT_FROM_EMAIL = SERVER_EMAIL = mail.sender or f"arena@{urlsplit(SITE_URL).hostname or 'localhost'}"
EMAIL_TIMEOUT = 10
EMAIL_SUBJECT_PREFIX = f"[{SITE_NAME}] "
ADMINS = [(address, address) for address in env.words("ADMINS")]
WEBHOOKS_TO_PRIVATE = env.flag("WEBHOOKS_TO_PRIVATE", False)
# Receivers on a private network seldom have a certificate.
WEBHOOKS_OVER_HTTP = WEBHOOKS_TO_PRIVATE or DEBUG
DEFAULT_EXCEPTION_REPORTER_FILTER = "core.monitoring.error_mails.WithoutSettings"
DEFAULT_EXCEPTION_REPORTER = "core.monitoring.error_mails.WithoutRowValues"
