"""Notices in the inbox, by mail and by webhook; alarms for organisers."""
