"""How numbers and intervals are shown, as text and as SVG."""
