"""Databases that releases of ours wrote: each one must stay readable."""
