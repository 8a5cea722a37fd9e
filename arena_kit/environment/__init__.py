"""Environments: their protocol, specs, registry, records and replays."""
