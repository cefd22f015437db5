CREATE TABLE namespaces (
    name VARCHAR PRIMARY KEY,
    description VARCHAR NOT NULL,
    config VARCHAR NOT NULL,     -- JSON object of texts
    -- milliseconds since 1970 of its creation, larger than that of any earlier one of the name
    generation BIGINT NOT NULL,
    -- active; deleting: its contents are on their way out; deleted: only its generation is remembered
    state VARCHAR NOT NULL
);

INSERT INTO namespaces VALUES
    ('default', 'Default Namespace', '{}', 0, 'active'),
    ('system', 'What belongs to the instance itself', '{}', 0, 'active');
