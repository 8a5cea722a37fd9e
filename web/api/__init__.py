"""The API: the addresses that clients of older systems know, and the arena's own under /api/v1/."""
