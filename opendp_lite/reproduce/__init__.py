"""The published experiments, run again with what the library has."""
