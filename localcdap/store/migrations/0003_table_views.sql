-- The query of a view in the SQL of DuckDB, see localcdap.store.views; null: a table, which holds rows.
ALTER TABLE dataset_tables ADD COLUMN query VARCHAR;
