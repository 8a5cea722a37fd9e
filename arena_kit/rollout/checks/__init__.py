"""Checks and guards of tasks: each kind reads its keys, and judges evidence. Nothing here executes text of an agent."""
