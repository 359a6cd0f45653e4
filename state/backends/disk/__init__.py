"""Files in a directory on disk."""
