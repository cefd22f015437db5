"""Pipeline documents: their rules, macros, validation and editing, and what a namespace stores of them."""
