-- What the records were like that a run gave to its sinks.
CREATE TABLE run_profiles (
    run VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    profile VARCHAR NOT NULL  -- JSON: see localcdap.engine.messages.profiles.SinkProfile
);
