"""What Java's two kinds of date patterns share; the kinds are ``simple_date`` and ``date_time``."""
