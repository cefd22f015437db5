"""A pipeline as a graph: its layout, its drawing, the widget."""
