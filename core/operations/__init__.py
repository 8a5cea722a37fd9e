"""Metrics, health, logs, alarms, retention and backup."""
