"""Users, tokens, second factor, logins, quotas, moderation and the audit log."""
