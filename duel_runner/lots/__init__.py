"""Validations, duels and evaluations as lots on a cluster."""
