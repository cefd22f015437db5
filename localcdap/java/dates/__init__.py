"""Dates and times as Java formats and parses them, by ``SimpleDateFormat`` and ``DateTimeFormatter``."""
