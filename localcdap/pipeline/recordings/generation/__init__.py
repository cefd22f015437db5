"""Generated records: the same seed gives the same records, which look real by the names of their fields.

:mod:`.people` has the texts of one person, :mod:`.field_values` the values by the name and the type of a
field, :mod:`.keys` those that join across sources, and :mod:`.records` puts records together.
"""
