"""Bars agents and people from taking part: disabled and quarantined agents, closed accounts."""
