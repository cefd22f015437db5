"""Speed beside a reference measured in the same run: ``python -m benchmarks``."""
