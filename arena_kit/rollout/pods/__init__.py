"""Worlds in the pods of a Kubernetes cluster: one world is one pod."""
