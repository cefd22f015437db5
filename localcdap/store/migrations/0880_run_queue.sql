-- The runs that have not begun, with what the process of each is to do. One without a process waits for its turn.
CREATE SEQUENCE run_places;
CREATE TABLE run_queue (
    run VARCHAR PRIMARY KEY,
    place BIGINT NOT NULL,
    work_order VARCHAR NOT NULL       -- JSON: localcdap.engine.messages.orders.WorkOrder, without its engine
);
ALTER TABLE runs ALTER COLUMN pid DROP NOT NULL;
ALTER TABLE runs ALTER COLUMN pid_created DROP NOT NULL;
