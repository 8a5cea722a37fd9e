"""Small agents that people start from, and what packs them into archives."""
