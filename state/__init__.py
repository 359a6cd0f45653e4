"""What a thread keeps, and where files live."""
