CREATE SEQUENCE metadata_ids;
CREATE SEQUENCE metadata_revisions;

-- The tags and properties of each entity that has any.
CREATE TABLE metadata (
    entity VARCHAR PRIMARY KEY,  -- type, then keys and values, separated by 0x1F
    id BIGINT NOT NULL,          -- from metadata_ids
    revision BIGINT NOT NULL,    -- of the last change, from metadata_revisions
    namespace VARCHAR,           -- null: the entity is in none
    type VARCHAR NOT NULL,
    sort_name VARCHAR NOT NULL,  -- the name in lower case
    hidden BOOLEAN NOT NULL,
    created BIGINT,              -- milliseconds since 1970; null: unknown
    metadata VARCHAR NOT NULL,   -- JSON: {"USER": {"properties": {}, "tags": []}, "SYSTEM": {…}}
    -- a line for each term by which it is found: scope (U or S), key, tab, token
    terms VARCHAR NOT NULL
);
