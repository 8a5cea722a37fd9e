"""Tasks of applications: reads them, judges what an agent did in a world, and computes the numbers.

Everything here is pure: it takes bytes and values, starts nothing, and executes nothing of a task's or an agent's text.
"""
