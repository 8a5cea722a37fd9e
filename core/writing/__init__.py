"""Formats of dates and times for Django, e.g. in its admin; see FORMAT_MODULE_PATH."""
