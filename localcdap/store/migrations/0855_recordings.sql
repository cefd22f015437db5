-- What stands in for stages of pipelines, as set in the studio or by localcdap recordings.
CREATE TABLE recordings (
    namespace VARCHAR NOT NULL,
    key VARCHAR NOT NULL,             -- which stages: stage:…, reference:…, plugin:… or type:…
    recording VARCHAR NOT NULL
);
