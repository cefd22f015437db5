-- Who saved a revision of a draft; null: localcdap itself, or a version before this column.
ALTER TABLE draft_revisions ADD COLUMN author VARCHAR;
