"""Files in a directory on disk, confined to that directory."""
