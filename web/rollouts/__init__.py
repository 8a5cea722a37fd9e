"""Applications: tasks, batches and rollouts, for people and programs."""
