"""Worlds: running instances of packages, in containers that share one network of their own without a way out."""
