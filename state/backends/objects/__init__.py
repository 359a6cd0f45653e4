"""Files as values under keys: a LangGraph store, a bucket, or a remote filesystem."""
