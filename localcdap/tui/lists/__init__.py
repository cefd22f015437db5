"""Lists that the screens share: :class:`~.filtered_list.FilteredList`, and options that carry a value."""
