"""One budget over many releases, kept on disk."""
