"""The inspector next to the canvas: form, schemas, documentation, records and debugging of the selected
stage.
"""
