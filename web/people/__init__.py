"""Pages and API of accounts, users, tokens and quotas."""
