"""Moments as the pages of the site write them (web.templatetags.arena): 21 Nov 2026, 18:00 UTC."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = DATETIME_FORMAT
