-- Writes that wait for the commit of their run are the uncommitted rows of run_accesses.
DROP TABLE pending_writes;
