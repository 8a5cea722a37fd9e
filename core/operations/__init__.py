"""Keeps the arena going: reaper, watchdog, health, status, retention and backup."""
