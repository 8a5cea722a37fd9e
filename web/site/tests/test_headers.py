"""Headers that all answers of the site have."""

from __future__ import annotations

from io import BytesIO

from django.http import HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings
from whitenoise.middleware import WhiteNoiseFileResponse

from web.site.middleware import SitePages


def test_files_have_the_headers_of_security_and_no_policy_of_pages(settings: Settings) -> None:
    settings.SECURE_HSTS_SECONDS = 60
    file = SitePages(lambda _: WhiteNoiseFileResponse(BytesIO(b"<svg/>")))
    page = SitePages(lambda _: HttpResponse("page", headers={"referrer-policy": "no-referrer"}))
    for secure in (False, True):
        request = RequestFactory().get("/static/a.svg", secure=secure)
        for answer in (file(request), page(request)):
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert ("Strict-Transport-Security" in answer.headers) == secure
        assert "Content-Security-Policy" not in file(request).headers
        # What a view has set stays.
        assert page(request).headers["Referrer-Policy"] == "no-referrer"
        assert "Content-Security-Policy" in page(request).headers
