-- The log of searches. docs/log-schema.md explains every column. A change of what stands here is a new version (logs/store.h).
-- Hashes and digests are SHA-256 in lower-case hex. NULL: not known, or does not apply.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE models (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE hardware (
    hash        TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    description TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE data (
    hash    TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    samples INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
    run                 INTEGER PRIMARY KEY AUTOINCREMENT,
    model               TEXT NOT NULL REFERENCES models (hash),
    model_name          TEXT NOT NULL,
    hardware            TEXT NOT NULL REFERENCES hardware (hash),
    data                TEXT NOT NULL REFERENCES data (hash),
    data_name           TEXT NOT NULL,
    labels              TEXT REFERENCES data (hash),
    labels_name         TEXT,
    holdout             TEXT REFERENCES data (hash),
    holdout_name        TEXT,
    holdout_labels      TEXT REFERENCES data (hash),
    holdout_labels_name TEXT,
    searcher            TEXT NOT NULL,
    options             TEXT NOT NULL,
    preprocess          TEXT NOT NULL,
    space               TEXT,
    seed                TEXT NOT NULL,
    engine_version      TEXT NOT NULL,
    started             TEXT NOT NULL,
    stop_reason         TEXT,
    goal_met            INTEGER,
    best_trial          INTEGER,
    best_strategy       TEXT,
    best_codes          TEXT
);

-- Who writes a run at this moment; no row: nobody.
CREATE TABLE leases (
    run     INTEGER PRIMARY KEY REFERENCES runs (run),
    host    TEXT NOT NULL,
    place   TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,
    since   TEXT NOT NULL,
    renewed INTEGER NOT NULL
);

CREATE TABLE trials (
    run        INTEGER NOT NULL REFERENCES runs (run),
    number     INTEGER NOT NULL,
    round      INTEGER NOT NULL,
    point      TEXT NOT NULL,
    feasible   INTEGER NOT NULL,
    error      TEXT,
    seconds    REAL NOT NULL,
    stopped_at INTEGER,
    samples    INTEGER,
    digest     TEXT,
    worker     TEXT,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE results (
    run     INTEGER NOT NULL REFERENCES runs (run),
    what    TEXT NOT NULL CHECK (what IN ('float', 'uniform8', 'hago-greedy', 'best', 'float-search')),
    samples INTEGER NOT NULL,
    digest  TEXT NOT NULL,
    PRIMARY KEY (run, what)
) WITHOUT ROWID;

-- The final choice among a run's trials, on samples that nothing else saw; no row: there was none.
CREATE TABLE selections (
    run            INTEGER PRIMARY KEY REFERENCES runs (run),
    samples        INTEGER NOT NULL,
    tested         INTEGER NOT NULL,
    certified      INTEGER NOT NULL,
    passed         INTEGER NOT NULL,
    bound          REAL,
    float          REAL,
    samples_wanted INTEGER NOT NULL
);

-- What is known of a score, a row each. subject: the trial's number, or the result's name. NUMERIC keeps integers as integers.
-- place, unit, better: of a metric that the searching program brought; else NULL.
CREATE TABLE metrics (
    run     INTEGER NOT NULL REFERENCES runs (run),
    subject NOT NULL,
    metric  TEXT NOT NULL,
    value   NUMERIC NOT NULL,
    place   INTEGER,
    unit    TEXT,
    better  TEXT,
    PRIMARY KEY (run, subject, metric)
) WITHOUT ROWID;
