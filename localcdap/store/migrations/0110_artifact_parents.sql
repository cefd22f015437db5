-- The applications that the plugins of an artifact are made for, separated by blanks; empty: all.
ALTER TABLE artifact ADD COLUMN parents VARCHAR DEFAULT '';
