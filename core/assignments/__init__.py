"""Assignments of courses: their tests against baselines, and the marks that follow."""
