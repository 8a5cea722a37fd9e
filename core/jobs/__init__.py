"""Background work: its lifecycle, its lines, and the workers that do it."""
