"""Pages of courses: what belongs to them, their members, the roster and news."""
