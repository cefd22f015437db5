-- The datasets of each namespace. Their rows are in tables of dataset_tables, their files in folders.
CREATE TABLE dataset_instances (
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    specification VARCHAR NOT NULL,   -- JSON
    principal VARCHAR,                -- the owner; null: that of the namespace
    created BIGINT NOT NULL,          -- milliseconds since 1970
    updated BIGINT NOT NULL
);

-- Changes of folders whose transaction was committed, until they are finished.
CREATE TABLE dataset_folder_changes (
    id VARCHAR NOT NULL
);
