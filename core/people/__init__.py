"""Users, tokens, second factor, logins, quotas and the audit log."""
