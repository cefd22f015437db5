"""Tables of records: :class:`~.table.RecordTable` shows, searches, copies and profiles them."""
