"""Courses: who sees what belongs to them, their members, and their news."""
