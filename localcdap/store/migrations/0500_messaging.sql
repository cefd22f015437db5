CREATE TABLE topics (
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    -- 1 for the first topic of this name, growing with each that is created anew; negative: deleted
    generation BIGINT NOT NULL,
    created BIGINT NOT NULL,
    age_limit_s BIGINT,    -- seconds that messages are kept; null: for ever
    count_limit BIGINT,    -- messages that are kept; null: all
    PRIMARY KEY (namespace, name)
);

-- Grows in the order of commits over all topics, since one writes at a time.
CREATE SEQUENCE message_ids;

CREATE TABLE messages (
    namespace VARCHAR NOT NULL,
    topic VARCHAR NOT NULL,
    generation BIGINT NOT NULL,  -- of the topic
    id BIGINT NOT NULL,
    time BIGINT NOT NULL,
    payload VARCHAR NOT NULL     -- JSON
);

-- How far each listener has come.
CREATE TABLE listener_positions (
    listener VARCHAR PRIMARY KEY,
    position BIGINT NOT NULL     -- id of the last message that took effect
);

INSERT INTO topics
SELECT 'system', unnest(['entities', 'runs', 'artifacts']), 1, epoch_ms(now()), 7 * 86400, 100000;
