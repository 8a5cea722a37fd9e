"""Who works in a browser: lists of actions, players in containers, and what connects them with a rollout."""
