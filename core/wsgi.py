"""Entry point of the site for WSGI servers."""

import os

from django.core.wsgi import get_wsgi_application

from core.logs import name_service

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
name_service("site")
application = get_wsgi_application()
