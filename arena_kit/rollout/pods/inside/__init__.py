"""The code that runs in the pod of a world, with the standard library alone."""
