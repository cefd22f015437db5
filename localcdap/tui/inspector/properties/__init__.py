"""The form of a stage: a field for each property, with the control that suits it."""
