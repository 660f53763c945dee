"""Rows chosen by people, by chance and by size."""
