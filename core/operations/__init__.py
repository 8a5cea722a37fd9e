"""Health, status, the watchdog, retention and backup."""
