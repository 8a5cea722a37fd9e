"""Applications, their packages and tasks, and agents at work in them."""
