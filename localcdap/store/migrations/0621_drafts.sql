-- Pipelines that are being made. What each of them held after each save is in draft_revisions.
CREATE TABLE drafts (
    namespace VARCHAR NOT NULL,
    generation BIGINT NOT NULL,    -- of the namespace
    owner VARCHAR NOT NULL,        -- empty: users are not told apart
    id VARCHAR NOT NULL,
    created BIGINT NOT NULL,       -- milliseconds since 1970
    revision INTEGER NOT NULL,     -- the latest
    PRIMARY KEY (namespace, generation, owner, id)
);
CREATE TABLE draft_revisions (
    namespace VARCHAR NOT NULL,
    generation BIGINT NOT NULL,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    revision INTEGER NOT NULL,     -- 1 for the first
    name VARCHAR NOT NULL,
    description VARCHAR,
    artifact VARCHAR NOT NULL,     -- JSON: name, version, scope
    parent_version VARCHAR,        -- of the application that it is an edit of
    updated BIGINT NOT NULL,       -- milliseconds since 1970
    hash VARCHAR NOT NULL,
    pipeline VARCHAR NOT NULL,     -- JSON text of the pipeline, as it was given
    PRIMARY KEY (namespace, generation, owner, id, revision)
);
