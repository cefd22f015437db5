-- How far each listener to system events has come, wherever it runs.
CREATE TABLE listeners (
    name VARCHAR PRIMARY KEY,
    topics VARCHAR[] NOT NULL,  -- of the namespace system
    position BIGINT NOT NULL    -- id of the last message that took effect
);

INSERT INTO listeners SELECT listener, [], position FROM listener_positions;

DROP TABLE listener_positions;
