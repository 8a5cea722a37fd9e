"""The organisers' pages of the site: what runs, tournaments, people, agents, environments, workers, webhooks."""
