"""Commands: how they run on the host or in a sandbox, and how they end."""
