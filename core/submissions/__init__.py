"""Agents, their submissions and how far each is."""
