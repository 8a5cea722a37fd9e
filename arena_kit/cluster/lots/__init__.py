"""Lots: validations, duels and evaluations as Jobs of a cluster, and the driver that compares rows with Jobs."""
