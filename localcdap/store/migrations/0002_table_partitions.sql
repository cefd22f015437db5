-- By what the rows of a table are parted, as JSON: see localcdap.api.table_writes.Partitioning; null: by nothing.
ALTER TABLE dataset_tables ADD COLUMN partitioning VARCHAR;
