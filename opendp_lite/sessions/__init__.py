"""One budget over several releases: in memory, and on disk."""
