"""An agent that keeps what it is told in files."""
