"""The workspace: every mount under its path, as operations use it."""
