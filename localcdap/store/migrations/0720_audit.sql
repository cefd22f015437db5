CREATE SEQUENCE audit_ids;

-- Who did what to which entity, kept until a user prunes it.
CREATE TABLE audit (
    id BIGINT PRIMARY KEY,
    time BIGINT NOT NULL,        -- milliseconds since 1970
    entity VARCHAR NOT NULL,     -- type, then keys and values, separated by 0x1F
    user_name VARCHAR NOT NULL,  -- empty: localcdap itself
    type VARCHAR NOT NULL,       -- CREATE, UPDATE, DELETE, TRUNCATE, ACCESS, METADATA_CHANGE
    payload VARCHAR NOT NULL     -- JSON
);

INSERT INTO topics VALUES ('system', 'audit', 1, epoch_ms(now()), 7 * 86400, 100000);
