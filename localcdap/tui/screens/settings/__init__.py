"""The settings of the instance, looked at and changed."""
