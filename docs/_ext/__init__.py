"""What the documentation site needs beyond Sphinx: its sources, formulas and links to names."""
