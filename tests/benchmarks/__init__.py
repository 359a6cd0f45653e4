"""What the package costs, beside its peers: `make bench`, or `python -m tests.benchmarks -h`."""
