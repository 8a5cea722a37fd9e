"""The interface for programs: what clients of older systems know, and everything of the arena under /api/v1/."""
