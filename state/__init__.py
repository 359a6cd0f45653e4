"""The state of a thread, and where its files are stored."""
