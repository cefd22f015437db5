"""The classes of the built-in dataset types: what programs call on an opened dataset."""
