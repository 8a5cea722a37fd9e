"""Checks at start: settings that do not fit together are refused, with a hint about what to do."""
