"""Widgets that every screen uses: header, footer, code areas, texts that are drawn only when they change."""
