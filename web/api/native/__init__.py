"""Everything of the arena under /api/v1/, with the same rules of who may see what as on the pages."""
