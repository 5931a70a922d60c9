-- The catalog of Trotline. What others may rely on are the views at the end, described in trotline-catalog(5); tables are private.
-- Times are microseconds since 1970 UTC, 0 for never; rows are joined by the store's own keys; enumerations are those of store.h.
CREATE TABLE meta (
    name TEXT PRIMARY KEY, -- what is remembered
    value TEXT NOT NULL    -- its value
) STRICT, WITHOUT ROWID;

CREATE TABLE collector (
    key INTEGER PRIMARY KEY, -- row number
    name TEXT NOT NULL,      -- as the collector says it
    version TEXT NOT NULL,   -- as the collector says it
    summary TEXT,            -- one sentence on what it collects
    sha256 TEXT,             -- of the file it was loaded from last, hex
    first_us INTEGER NOT NULL, -- first seen
    UNIQUE (name, version)
) STRICT;

CREATE TABLE target (
    key INTEGER PRIMARY KEY, -- row number
    org TEXT,                -- organisation, NULL when not given
    project TEXT,            -- project, NULL when not given
    name TEXT                -- what is watched, NULL when not given
) STRICT;
CREATE UNIQUE INDEX target_names ON target (ifnull(org, ''), ifnull(project, ''), ifnull(name, ''));

CREATE TABLE host (
    key INTEGER PRIMARY KEY, -- row number
    name TEXT NOT NULL UNIQUE, -- host:port
    delay_us INTEGER NOT NULL DEFAULT 0, -- pause between starts that it was last asked with
    until_us INTEGER NOT NULL DEFAULT 0, -- nothing is asked before: Retry-After and the like
    robots INTEGER NOT NULL DEFAULT 0,   -- robots.txt: 0 not asked, 1 rules, 2 none (all allowed)
    robots_us INTEGER NOT NULL DEFAULT 0, -- when it was read
    robots_text BLOB,                    -- its bytes, when there are rules
    robots_tls INTEGER NOT NULL DEFAULT 0 -- 1: it was read by https, and says nothing of http at the same port
) STRICT;

CREATE TABLE folder (
    key INTEGER PRIMARY KEY, -- row number
    path TEXT NOT NULL UNIQUE -- folder of documents below the lake, no slash at the end
) STRICT;

CREATE TABLE owner (
    key INTEGER PRIMARY KEY,   -- row number
    name TEXT NOT NULL UNIQUE, -- of a supervisor's life
    lease_us INTEGER NOT NULL DEFAULT 0 -- time at which everything it has leased runs out
) STRICT;

CREATE TABLE leash (
    key INTEGER PRIMARY KEY, -- row number; that of the parent is smaller
    root INTEGER NOT NULL REFERENCES run (key) DEFERRABLE INITIALLY DEFERRED, -- root run of the crawl
    parent INTEGER REFERENCES leash (key), -- the leash that it tightens, NULL: the crawl's own
    depth INTEGER,           -- largest reach allowed, tightest of the chain; NULL: none, so for all limits
    fanout INTEGER,          -- accepted children a run may have, tightest of the chain
    runs INTEGER,            -- runs allowed
    bytes INTEGER,           -- bytes allowed
    time_us INTEGER,         -- time allowed, microseconds
    runs_spent INTEGER NOT NULL DEFAULT 0,  -- runs put under it and under what tightens it
    bytes_spent INTEGER NOT NULL DEFAULT 0, -- bytes fetched by them
    given TEXT NOT NULL,     -- the leash as first given, JSON: its identity below its parent
    json TEXT NOT NULL       -- the leash as it stands, JSON
) STRICT;
CREATE UNIQUE INDEX leash_given ON leash (root, ifnull(parent, 0), given);

CREATE TABLE crawl (
    root INTEGER PRIMARY KEY REFERENCES run (key) DEFERRABLE INITIALLY DEFERRED, -- its root run
    name TEXT NOT NULL,      -- name of the crawl; many crawls may have it, one after the other
    file_json TEXT NOT NULL, -- the crawl file, canonical JSON
    file_sha256 TEXT,        -- its digest, hex
    leash_json TEXT,         -- the leash in force, JSON
    context_json TEXT,       -- the run context, JSON, or NULL
    target INTEGER REFERENCES target (key), -- what it watches
    scope INTEGER REFERENCES leash (key),   -- the crawl's own leash
    closed INTEGER NOT NULL DEFAULT 0,     -- 1: over, recorded in the lake
    stop_asked INTEGER NOT NULL DEFAULT 0, -- 1: somebody asked its owner to end it
    reason TEXT,             -- why it ended or paused: done, time, stopped, interrupted
    package_sha256 TEXT,     -- digest of its closing record, hex
    started_us INTEGER NOT NULL,           -- time it was made
    finished_us INTEGER NOT NULL DEFAULT 0, -- time it was closed
    runs INTEGER NOT NULL DEFAULT 0,      -- its runs, the root too
    failed INTEGER NOT NULL DEFAULT 0,    -- of these failed or crashed
    leashed INTEGER NOT NULL DEFAULT 0,   -- refusals recorded
    documents INTEGER NOT NULL DEFAULT 0, -- documents
    bytes INTEGER NOT NULL DEFAULT 0,     -- bytes fetched by its runs
    queued INTEGER NOT NULL DEFAULT 0,    -- runs that wait
    leased INTEGER NOT NULL DEFAULT 0,    -- runs under way
    events INTEGER NOT NULL DEFAULT 0,    -- events that wait or are under way
    turn_us INTEGER NOT NULL DEFAULT 0,   -- time that `run --due` went by when it carried it out last, 0: it did not
    due_us INTEGER NOT NULL DEFAULT 0     -- time on the schedule of its target that this turn was for
) STRICT;
CREATE INDEX crawl_name ON crawl (name, root);

CREATE TABLE run (
    key INTEGER PRIMARY KEY, -- row number, ascending in the order of put
    run_id TEXT NOT NULL UNIQUE, -- UUIDv7
    root INTEGER NOT NULL REFERENCES run (key),  -- the crawl's root run
    parent INTEGER REFERENCES run (key),         -- the run that asked for it, NULL: it is a root
    depth INTEGER NOT NULL,  -- lineage depth, as put; the root has 0
    reach INTEGER NOT NULL,  -- smallest distance from the root known by now, what the leash counts
    edge INTEGER NOT NULL CHECK (edge BETWEEN 0 AND 2), -- how the parent led to it: 0 spawn, 1 page, 2 react
    line INTEGER NOT NULL,   -- 1: a line of the crawl
    collector INTEGER NOT NULL REFERENCES collector (key), -- who carries it out
    target INTEGER REFERENCES target (key),      -- what is watched
    context TEXT,            -- result_context_name of the branch
    scope INTEGER REFERENCES leash (key) DEFERRABLE INITIALLY DEFERRED, -- its leash
    host INTEGER REFERENCES host (key),          -- host of its URL argument, NULL: it has none
    digest BLOB NOT NULL,    -- identity within the root: head of SHA-256(collector, 0, canonical payload), 16 bytes
    payload TEXT,            -- arguments as given, JSON
    url TEXT,                -- first URL argument as given
    -- 0 queued, 1 leased, 2 success, 3 partial, 4 failed, 5 crashed, 6 refused, 7 cancelled, 8 not_modified, 9 cached
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 9),
    reason TEXT,             -- one word: why it ended like that
    error TEXT,              -- a sentence
    attempts INTEGER NOT NULL DEFAULT 0, -- claims that ended in a retry or a crash
    token INTEGER NOT NULL DEFAULT 0,    -- claims so far: fences off a late finish; 0: never claimed
    owner INTEGER REFERENCES owner (key), -- who leases it; the lease is the owner's
    not_before_us INTEGER NOT NULL DEFAULT 0, -- not to be claimed before
    children INTEGER NOT NULL DEFAULT 0, -- accepted children that count as fan-out
    queued_us INTEGER NOT NULL,          -- time of the put
    started_us INTEGER NOT NULL DEFAULT 0,  -- start of the last attempt
    finished_us INTEGER NOT NULL DEFAULT 0, -- end
    bytes INTEGER NOT NULL DEFAULT 0,    -- bytes fetched
    http_status INTEGER NOT NULL DEFAULT 0, -- status of the last answer, 0: none
    final_url TEXT,          -- where redirects led, NULL: nowhere else
    result_ref INTEGER REFERENCES run (key), -- run whose earlier result this one stands for
    result_ref_id TEXT       -- the same as result id, when that result is not in this catalog
) STRICT;
CREATE UNIQUE INDEX run_digest ON run (root, digest);
CREATE INDEX run_parent ON run (parent);
CREATE INDEX run_queue ON run (root, reach, key, host, collector, not_before_us, state) WHERE state = 0;
CREATE INDEX run_leased ON run (root, reach, state) WHERE state = 1;
CREATE INDEX run_unhappy ON run (root) WHERE state IN (4, 5);

CREATE TABLE ancestor (
    run INTEGER NOT NULL REFERENCES run (key),      -- a run that was claimed
    hops INTEGER NOT NULL,                          -- 1: the parent
    ancestor INTEGER NOT NULL REFERENCES run (key), -- the run that many hops up
    PRIMARY KEY (run, hops)
) STRICT, WITHOUT ROWID;

CREATE TABLE edge (
    child INTEGER NOT NULL REFERENCES run (key),  -- the run led to
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 5), -- 3 cached, 4 canonical_of, 5 promoted; what makes the tree stands in run
    parent INTEGER NOT NULL REFERENCES run (key), -- the run it comes from
    PRIMARY KEY (child, kind, parent)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_parent ON edge (parent);

CREATE TABLE document (
    run INTEGER PRIMARY KEY REFERENCES run (key),  -- whose result it is
    result_id TEXT NOT NULL UNIQUE,                -- UUIDv7; the file is FOLDER/RESULT_ID.json
    folder INTEGER NOT NULL REFERENCES folder (key), -- where in the lake
    sha256 BLOB NOT NULL,           -- of the whole file, 32 bytes
    bytes INTEGER NOT NULL,         -- length of the file
    collected_us INTEGER NOT NULL,  -- end of its run
    datasets TEXT NOT NULL,         -- JSON [[name, type, elements, bytes, media_type, encoding, sha256], ...]
    attachments TEXT                -- JSON [{name, path, bytes, sha256, media_type}, ...]
) STRICT;

CREATE TABLE refusal (
    root INTEGER NOT NULL REFERENCES run (key),   -- the crawl's root run
    digest BLOB NOT NULL,                         -- identity of what was refused, 16 bytes
    -- 1 depth, 2 fanout, 3 runs, 4 bytes, 5 time, 6 hosts, 7 robots, 8 guard
    reason INTEGER NOT NULL CHECK (reason BETWEEN 1 AND 8),
    parent INTEGER NOT NULL REFERENCES run (key), -- the first run that asked for it
    collector INTEGER NOT NULL REFERENCES collector (key), -- who would have carried it out
    url TEXT,                                     -- first URL argument
    times INTEGER NOT NULL,                       -- how often it was refused
    at_us INTEGER NOT NULL,                       -- first time
    PRIMARY KEY (root, digest, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    key INTEGER PRIMARY KEY, -- row number; older is smaller
    root INTEGER NOT NULL REFERENCES run (key), -- the crawl's root run
    run INTEGER NOT NULL REFERENCES run (key),  -- whose document is durable
    reactor INTEGER NOT NULL REFERENCES collector (key), -- who reacts to it
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 1),  -- 0 react, 1 again: the document was reached by a shorter way
    args TEXT,               -- arguments of the reaction, JSON; NULL: the run's own
    reach INTEGER NOT NULL,  -- of the run
    state INTEGER NOT NULL CHECK (state IN (0, 1, 3)), -- 0 waiting, 1 under way, 3 failed; a row of one that is done is gone
    attempts INTEGER NOT NULL DEFAULT 0, -- deliveries that failed
    owner INTEGER REFERENCES owner (key), -- who has it
    not_before_us INTEGER NOT NULL DEFAULT 0, -- not to be delivered before
    created_us INTEGER NOT NULL, -- time it was put
    error TEXT               -- why the last delivery failed
) STRICT;
CREATE INDEX event_open ON event (root, reach, key) WHERE state < 2;
CREATE INDEX event_parked ON event (root, not_before_us) WHERE state = 0 AND not_before_us > 0;
CREATE INDEX event_again ON event (run) WHERE kind = 1;

CREATE TABLE state (
    crawl TEXT NOT NULL,     -- name of the crawl
    collector TEXT NOT NULL, -- name of the collector
    name TEXT NOT NULL,      -- chosen by the collector
    value BLOB NOT NULL,     -- the collector's own
    at_us INTEGER NOT NULL,  -- time it was written
    PRIMARY KEY (crawl, collector, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE lock_row (
    name TEXT PRIMARY KEY,   -- what is locked
    owner TEXT NOT NULL,     -- who holds it
    token INTEGER NOT NULL,  -- grows each time it is taken
    until_us INTEGER NOT NULL -- held until then
) STRICT, WITHOUT ROWID;

CREATE TABLE tracked_name (
    name TEXT PRIMARY KEY,   -- what is tracked, such as github.com/LOGIN
    done_us INTEGER NOT NULL DEFAULT 0,  -- last time it was completed
    added_us INTEGER NOT NULL,           -- time it was added
    taken_us INTEGER NOT NULL DEFAULT 0, -- last time it was taken to be looked after
    error TEXT               -- why the last time failed
) STRICT, WITHOUT ROWID;

-- Rows of a URL stand in the order in which URLs came to be known, so that adding one touches few pages; its key, which is as good as
-- random, is an index beside them. The text decides: several URLs may have one key.
CREATE TABLE url_row (
    id INTEGER PRIMARY KEY,  -- row number
    key INTEGER NOT NULL,    -- 63-bit key of the text
    url TEXT NOT NULL,       -- canonical text of a URL that was asked, led to or named
    first_us INTEGER NOT NULL -- first seen
) STRICT;
CREATE INDEX url_row_key ON url_row (key);

CREATE TABLE url_map_row (
    id INTEGER PRIMARY KEY,  -- row number
    asked INTEGER NOT NULL REFERENCES url_row (id), -- this URL
    url INTEGER NOT NULL REFERENCES url_row (id),   -- leads to this one
    -- how it is known: 0 same, 1 redirect, 2 canonical, 3 claim: what a page says of another site, not believed
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3),
    since_us INTEGER NOT NULL,      -- valid since
    until_us INTEGER NOT NULL DEFAULT 0 -- valid until, 0: still; of a URL one claim and one other at most are open
) STRICT;
CREATE INDEX url_map_row_asked ON url_map_row (asked);
CREATE INDEX url_map_row_url ON url_map_row (url) WHERE kind <> 0;

CREATE TABLE url_document (
    run INTEGER PRIMARY KEY REFERENCES run (key),   -- whose document it is
    url INTEGER NOT NULL REFERENCES url_row (id),   -- canonical URL that it is content of
    source INTEGER NOT NULL REFERENCES url_row (id), -- URL that gave the bytes
    asked INTEGER NOT NULL REFERENCES url_row (id), -- URL that was asked for
    claim INTEGER REFERENCES url_row (id),          -- canonical URL on another site that the page claims, or NULL
    believed INTEGER NOT NULL, -- 1: it says where URLs lead; 0: a failure, or no answer to a plain request for the URL
    plain INTEGER NOT NULL, -- 1: a whole answer to a GET without body and secrets: it may answer others
    at_us INTEGER NOT NULL, -- time of the answer
    seen_us INTEGER NOT NULL -- last time that the server called it unchanged, or that of the answer
) STRICT;
CREATE INDEX url_document_url ON url_document (url, at_us);

CREATE TABLE validator (
    url INTEGER NOT NULL REFERENCES url_row (id), -- the URL that was asked
    credential TEXT NOT NULL,  -- names of the secrets it was asked with, empty: none
    etag TEXT,                 -- as the server sent it
    last_modified TEXT,        -- as the server sent it
    run INTEGER NOT NULL REFERENCES run (key), -- run whose document the answer is in
    unchanged INTEGER NOT NULL DEFAULT 0, -- answers 304 since the document was fetched
    at_us INTEGER NOT NULL,    -- last answer
    PRIMARY KEY (url, credential)
) STRICT, WITHOUT ROWID;

CREATE TABLE table_file (
    key INTEGER PRIMARY KEY,   -- row number
    id TEXT NOT NULL,          -- UUIDv7 in its name, which the two files of a pair share
    path TEXT NOT NULL UNIQUE, -- below the lake
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3), -- 0 dataset items, 1 a typed table, 2 rejects, 3 a record of these
    format TEXT NOT NULL,      -- parquet, avro, or jsonl (records)
    name TEXT NOT NULL,        -- collector (items), type (typed), rejects; what was done (records)
    version TEXT NOT NULL,     -- of the columns: v1, or that of the type
    hour_us INTEGER NOT NULL,  -- start of the hour (items) or day (typed, rejects) of collection; 0 (records)
    rows INTEGER NOT NULL,     -- in it
    bytes INTEGER NOT NULL,    -- length of the file
    sha256 BLOB NOT NULL,      -- of the file, 32 bytes
    written_us INTEGER NOT NULL,             -- time it was written
    replaced_us INTEGER NOT NULL DEFAULT 0,  -- time another took its place: it is to be removed
    UNIQUE (id, format)
) STRICT;
CREATE INDEX table_file_place ON table_file (kind, format, hour_us, name);

CREATE TABLE table_source (
    root INTEGER NOT NULL REFERENCES run (key),        -- crawl whose documents
    file INTEGER NOT NULL REFERENCES table_file (key), -- gave rows of this file
    PRIMARY KEY (root, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX table_source_file ON table_source (file);

CREATE TABLE converted (
    run INTEGER PRIMARY KEY REFERENCES run (key), -- whose document has become items
    parquet INTEGER REFERENCES table_file (key),  -- file that holds them, NULL: there were none
    avro INTEGER REFERENCES table_file (key),     -- the same rows
    items INTEGER NOT NULL,                       -- how many
    at_us INTEGER NOT NULL                        -- time of the conversion
) STRICT;
CREATE INDEX converted_avro ON converted (avro);

CREATE TABLE typed (
    key INTEGER PRIMARY KEY, -- row number
    name TEXT NOT NULL,      -- of the type
    version TEXT NOT NULL,   -- of the type
    sha256 TEXT NOT NULL,    -- of its declaration, hex: one version has one declaration
    columns TEXT NOT NULL,   -- JSON [[name, type], ...]
    first_us INTEGER NOT NULL, -- time it was first used
    UNIQUE (name, version)
) STRICT;

CREATE TABLE refined (
    run INTEGER NOT NULL REFERENCES run (key),  -- whose document's items
    type INTEGER NOT NULL REFERENCES typed (key), -- have been looked at for this type
    rows INTEGER NOT NULL,     -- that they gave
    rejected INTEGER NOT NULL, -- rows that the type refused
    file INTEGER REFERENCES table_file (key),    -- file of the rows, NULL: there were none
    rejects INTEGER REFERENCES table_file (key), -- file of the refused
    PRIMARY KEY (run, type)
) STRICT, WITHOUT ROWID;

CREATE TABLE link_row (
    run INTEGER NOT NULL REFERENCES run (key), -- whose document holds the entity
    ordinal INTEGER NOT NULL,      -- place in the document
    urn TEXT NOT NULL,             -- the entity
    name TEXT NOT NULL,            -- of the link
    href TEXT NOT NULL,            -- where it leads: an URN
    type TEXT NOT NULL,            -- resource, collection, relation or alias; empty: for the catalog's own use
    is_latest INTEGER NOT NULL,    -- 1: from the newest document of the entity
    collected_us INTEGER NOT NULL, -- time of collection
    deleted_us INTEGER NOT NULL DEFAULT 0, -- time the entity was found gone
    PRIMARY KEY (run, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_row_urn ON link_row (urn, name);
CREATE INDEX link_row_href ON link_row (href, name);

CREATE TABLE candidate (
    key INTEGER PRIMARY KEY, -- row number
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3), -- 0 host, 1 url, 2 urn, 3 name
    text TEXT NOT NULL,      -- what was found: HOST[:PORT], a canonical URL, an URN, a name
    url TEXT,                -- where to begin with it, NULL: not known
    UNIQUE (kind, text)
) STRICT;

-- A page that is fetched again is the same sighting, for its identity is that of the arguments.
CREATE TABLE sighting (
    candidate INTEGER NOT NULL REFERENCES candidate (key), -- what was seen
    crawl TEXT NOT NULL,           -- name of the crawl, which is the id of its target
    digest BLOB NOT NULL,          -- identity within the crawl of the run whose document has it, 16 bytes
    run INTEGER NOT NULL REFERENCES run (key), -- the first such run
    weight INTEGER NOT NULL,       -- what the rule says that it is worth; of several rules the largest
    first_us INTEGER NOT NULL,     -- time of collection of its document
    last_us INTEGER NOT NULL,      -- likewise of the newest
    PRIMARY KEY (candidate, crawl, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX sighting_page ON sighting (crawl, digest);

CREATE TABLE discovered (
    run INTEGER PRIMARY KEY REFERENCES run (key) -- whose document was looked at for candidates
) STRICT;

-- What rules watch: the value of a column of some row, as documents of a crawl say it, each time that it changed.
CREATE TABLE watched (
    key INTEGER PRIMARY KEY, -- row number
    crawl TEXT NOT NULL,     -- name of the crawl, which is the id of its target
    number INTEGER NOT NULL, -- counts those of the crawl, of which there are only so many
    type TEXT NOT NULL,      -- of the row
    name TEXT NOT NULL,      -- of the column
    of_row TEXT NOT NULL,    -- which row: its natural key, or another column's value
    UNIQUE (crawl, type, name, of_row)
) STRICT;
CREATE UNIQUE INDEX watched_number ON watched (crawl, number);

CREATE TABLE watched_value (
    watched INTEGER NOT NULL REFERENCES watched (key), -- what has it
    at_us INTEGER NOT NULL,  -- time of collection of the document that says so first
    run INTEGER NOT NULL REFERENCES run (key), -- its run
    value TEXT,              -- the value, NULL: the column had none
    seen_us INTEGER NOT NULL, -- time of collection of the last document that says so without another one in between
    seen_run INTEGER NOT NULL REFERENCES run (key), -- its run
    PRIMARY KEY (watched, at_us, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE watched_new (
    crawl TEXT NOT NULL,     -- as in watched, so for the next three
    type TEXT NOT NULL,      -- of the row
    name TEXT NOT NULL,      -- of the column
    of_row TEXT NOT NULL,    -- which row
    at_us INTEGER NOT NULL,  -- time of collection
    run INTEGER NOT NULL REFERENCES run (key), -- whose document says it
    value TEXT,              -- the value; it waits to be put into watched_value, in order
    PRIMARY KEY (crawl, type, name, of_row, at_us, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE wanted (
    candidate INTEGER NOT NULL REFERENCES candidate (key), -- what a reaction wants to be promoted
    reaction TEXT NOT NULL,        -- its name
    since_us INTEGER NOT NULL,     -- time it first did
    PRIMARY KEY (candidate, reaction)
) STRICT, WITHOUT ROWID;

CREATE TABLE promotion (
    key INTEGER PRIMARY KEY, -- row number
    uid TEXT NOT NULL UNIQUE, -- UUIDv7, by which records in the lake know it
    id TEXT NOT NULL,        -- of the target that was made
    kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3), -- of the candidate, as there
    what TEXT NOT NULL,      -- the candidate's text
    yaml TEXT NOT NULL,      -- the target, as in a file of targets
    run INTEGER REFERENCES run (key), -- run whose document it comes from, NULL: none is known
    reaction TEXT,           -- name of the reaction that asked for it, NULL: somebody did by hand
    at_us INTEGER NOT NULL,  -- time of the promotion
    removed_us INTEGER NOT NULL DEFAULT 0 -- time it was taken back, 0: it holds
) STRICT;
CREATE UNIQUE INDEX promotion_id ON promotion (id) WHERE removed_us = 0;
CREATE INDEX promotion_what ON promotion (kind, what);

-- In the views AT(x), STATE(x), EDGE(x) and REASON(x) stand for the expressions that give ISO time and the names of store.h, and
-- PLAIN(x) for a part of a path of the lake as it was before it became that; the store writes them out when it makes a catalog (sqlite_schema.c), so what stands in the file needs nothing of ours.
CREATE VIEW runs AS SELECT
    r.run_id, p.run_id AS parent_id, o.run_id AS root_id, r.depth, c.name AS collector, c.version AS collector_version,
    t.name AS target, STATE(r.state) AS status, r.reason, r.attempts,
    AT(r.started_us) AS started_at, AT(r.finished_us) AS finished_at,
    CASE WHEN r.started_us > 0 AND r.finished_us > 0 THEN (r.finished_us - r.started_us) / 1e6 END AS seconds,
    r.bytes, nullif(r.http_status, 0) AS http_status, r.url, r.error, coalesce(d.result_id, r.result_ref_id) AS result_ref,
    r.final_url, EDGE(r.edge) AS edge, r.reach, h.name AS host, r.context AS result_context_name, r.payload,
    lower(hex(r.digest)) AS payload_digest, AT(r.queued_us) AS queued_at, r.line
FROM run r JOIN run o ON o.key = r.root JOIN collector c ON c.key = r.collector LEFT JOIN run p ON p.key = r.parent
    LEFT JOIN target t ON t.key = r.target LEFT JOIN host h ON h.key = r.host LEFT JOIN document d ON d.run = r.result_ref;

CREATE VIEW failures AS SELECT
    r.run_id, o.run_id AS root_id, c.name AS collector, r.url,
    coalesce(r.reason || ': ' || r.error, r.error, r.reason) AS error, r.attempts, AT(r.finished_us) AS finished_at,
    STATE(r.state) AS status, r.reason, p.run_id AS parent_id
FROM run r JOIN run o ON o.key = r.root JOIN collector c ON c.key = r.collector LEFT JOIN run p ON p.key = r.parent
WHERE r.state IN (4, 5);

CREATE VIEW crawls AS SELECT
    r.run_id AS root_id, c.name AS crawl, CASE WHEN c.closed THEN coalesce(c.reason, 'done') ELSE 'open' END AS status, c.reason,
    AT(c.started_us) AS started_at, AT(c.finished_us) AS finished_at, c.runs, c.failed, c.leashed, c.documents, c.bytes,
    t.org, t.project, t.name AS target, c.queued, c.leased, c.file_sha256, c.leash_json AS leash, c.context_json AS run_context,
    c.package_sha256, AT(c.turn_us) AS turn_at, AT(c.due_us) AS due_at
FROM crawl c CROSS JOIN run r ON r.key = c.root LEFT JOIN target t ON t.key = c.target;

CREATE VIEW edges AS SELECT p.run_id AS parent_id, c.run_id AS child_id, EDGE(c.edge) AS kind
    FROM run c JOIN run p ON p.key = c.parent WHERE c.token > 0
UNION ALL SELECT p.run_id, c.run_id, EDGE(e.kind)
    FROM edge e JOIN run c ON c.key = e.child JOIN run p ON p.key = e.parent;

CREATE VIEW lineage AS SELECT r.run_id, a.run_id AS ancestor_id, n.hops
    FROM run r JOIN ancestor n ON n.run = r.key JOIN run a ON a.key = n.ancestor
UNION ALL SELECT run_id, run_id, 0 FROM run WHERE token > 0;

CREATE VIEW tree AS WITH RECURSIVE branch (key, root, level, indent, joint) AS (
    SELECT root, root, 0, '', '' FROM crawl
    UNION ALL
    SELECT r.key, b.root, b.level + 1,
        b.indent || CASE b.joint WHEN '' THEN '' WHEN '└── ' THEN '    ' ELSE '│   ' END,
        CASE WHEN EXISTS (SELECT 1 FROM run n WHERE n.parent = r.parent AND n.key > r.key) THEN '├── ' ELSE '└── ' END
    FROM branch b JOIN run r ON r.parent = b.key
    ORDER BY 3 DESC, 1 LIMIT -1) -- depth first; the limit keeps the order, which a join would drop
SELECT b.indent || b.joint || CASE b.level WHEN 0 THEN w.name ELSE c.name || ' ' || coalesce(r.url, r.payload, '') END AS what,
    STATE(r.state) AS status, AT(r.started_us) AS started_at, r.run_id, o.run_id AS root_id, r.depth
FROM branch b CROSS JOIN run r ON r.key = b.key CROSS JOIN run o ON o.key = b.root CROSS JOIN crawl w ON w.root = b.root
    CROSS JOIN collector c ON c.key = r.collector;

CREATE VIEW documents AS SELECT
    d.result_id, r.run_id, o.run_id AS root_id, f.path || '/' || d.result_id || '.json' AS path, lower(hex(d.sha256)) AS sha256,
    d.bytes, AT(d.collected_us) AS collected_at, d.attachments
FROM document d JOIN run r ON r.key = d.run JOIN run o ON o.key = r.root JOIN folder f ON f.key = d.folder;

-- Copies of repositories (backups/shard=/SERVER/aa/bb/cc/dd/OWNER/NAME/DATE.KIND) that were not let go; one of no bytes says that its
-- kind has ended. DATE.dropped lets bundle, zip and refs of that date go.
CREATE VIEW backups AS WITH file AS (
    SELECT '["' || replace(a.value ->> 'path', '/', '","') || '"]' AS place, a.value ->> 'name' AS called,
        a.value ->> 'bytes' AS bytes, a.value ->> 'path' AS path, a.value ->> 'sha256' AS sha256, d.result_id, r.run_id,
        o.run_id AS root_id, d.collected_us
    FROM document d JOIN run r ON r.key = d.run JOIN run o ON o.key = r.root CROSS JOIN json_each(d.attachments) a
    WHERE d.attachments LIKE '%"backups/%' AND a.value ->> 'path' LIKE 'backups/%')
SELECT
    PLAIN(x.place ->> 2) AS server, PLAIN(x.place ->> 7) AS owner, substr(x.called, instr(x.called, ' of ') + 4) AS name,
    CASE WHEN x.place ->> 12 IS NULL THEN substr(x.called, 1, instr(x.called, ' of ') - 1) ELSE 'object' END AS kind,
    CASE WHEN x.place ->> 12 IS NULL
        THEN substr(x.place ->> 9, 1, 13) || ':' || substr(x.place ->> 9, 15, 2) || ':' || substr(x.place ->> 9, 18, 3)
        ELSE AT(x.collected_us) END AS at,
    x.bytes, x.path, x.sha256, substr(x.place ->> 1, 7) AS shard, x.result_id, x.run_id, x.root_id
FROM file x
WHERE x.path NOT LIKE '%.dropped' AND (x.path LIKE '%.error' OR x.path LIKE '%.lfs' OR rtrim(x.path, 'abcdefghijklmnopqrstuvwxyz') NOT IN (
    SELECT rtrim(f.path, 'abcdefghijklmnopqrstuvwxyz') FROM file f WHERE f.path LIKE '%.dropped'));

CREATE VIEW datasets AS SELECT
    d.result_id, r.run_id, o.run_id AS root_id, j.key AS ordinal, j.value ->> 0 AS name, j.value ->> 1 AS type,
    j.value ->> 2 AS elements, j.value ->> 3 AS bytes, j.value ->> 4 AS media_type, j.value ->> 5 AS encoding,
    j.value ->> 6 AS sha256
FROM document d JOIN run r ON r.key = d.run JOIN run o ON o.key = r.root CROSS JOIN json_each(d.datasets) j;

CREATE VIEW leashed AS SELECT
    p.run_id AS parent_id, o.run_id AS root_id, c.name AS collector, l.url, lower(hex(l.digest)) AS payload_digest,
    REASON(l.reason) AS reason, l.times, AT(l.at_us) AS at
FROM refusal l JOIN run o ON o.key = l.root JOIN run p ON p.key = l.parent JOIN collector c ON c.key = l.collector;

CREATE VIEW events AS SELECT
    r.run_id, o.run_id AS root_id, c.name AS reactor, CASE e.kind WHEN 0 THEN 'react' ELSE 'again' END AS kind,
    CASE e.state WHEN 0 THEN 'waiting' WHEN 1 THEN 'taken' ELSE 'failed' END AS status, e.attempts, e.error,
    AT(e.created_us) AS created_at, AT(e.not_before_us) AS not_before_at, e.args
FROM event e JOIN run r ON r.key = e.run JOIN run o ON o.key = e.root JOIN collector c ON c.key = e.reactor;

CREATE VIEW collectors AS SELECT name, version, summary, sha256, AT(first_us) AS first_seen_at FROM collector;

CREATE VIEW links AS SELECT
    d.result_id, o.run_id AS root_id, l.urn, l.name, l.href, l.type, AT(l.collected_us) AS collected_at, l.is_latest,
    AT(l.deleted_us) AS deleted_at
FROM link_row l JOIN run r ON r.key = l.run JOIN run o ON o.key = r.root LEFT JOIN document d ON d.run = l.run
WHERE l.type <> '';

CREATE VIEW urls AS SELECT
    CAST(u.key AS TEXT) AS url_key, u.url, (SELECT d.result_id FROM url_document x JOIN document d ON d.run = x.run
        WHERE x.url = u.id ORDER BY x.at_us DESC LIMIT 1) AS result_id, v.etag, v.last_modified, AT(u.first_us) AS first_seen_at,
    (SELECT AT(x.seen_us) FROM url_document x WHERE x.url = u.id ORDER BY x.at_us DESC LIMIT 1) AS last_seen_at, u.id AS url_id
FROM url_row u LEFT JOIN validator v ON v.url = u.id AND v.credential = '';

CREATE VIEW url_map AS SELECT
    CAST(a.key AS TEXT) AS requested_key, CAST(u.key AS TEXT) AS canonical_key, a.url AS requested_url, u.url AS canonical_url,
    CASE m.kind WHEN 0 THEN 'same' WHEN 1 THEN 'redirect' WHEN 2 THEN 'canonical' WHEN 3 THEN 'claim' END AS kind,
    AT(m.since_us) AS since_at, AT(m.until_us) AS until_at, m.asked AS requested_id, m.url AS canonical_id
FROM url_map_row m JOIN url_row u ON u.id = m.url JOIN url_row a ON a.id = m.asked;

CREATE VIEW url_documents AS SELECT
    u.url, a.url AS requested_url, s.url AS source_url, c.url AS claimed_url, d.result_id, r.run_id, o.run_id AS root_id,
    STATE(r.state) AS status, nullif(r.http_status, 0) AS http_status, r.bytes AS fetched_bytes, d.bytes, AT(x.at_us) AS collected_at,
    AT(x.seen_us) AS seen_at, x.plain, x.url AS url_id
FROM url_document x JOIN url_row u ON u.id = x.url JOIN url_row a ON a.id = x.asked JOIN url_row s ON s.id = x.source
    JOIN run r ON r.key = x.run JOIN run o ON o.key = r.root JOIN document d ON d.run = x.run LEFT JOIN url_row c ON c.id = x.claim;

CREATE VIEW validators AS SELECT
    u.url, v.credential, v.etag, v.last_modified, r.run_id, v.unchanged, AT(v.at_us) AS at, v.url AS url_id
FROM validator v JOIN url_row u ON u.id = v.url JOIN run r ON r.key = v.run;

CREATE VIEW hosts AS SELECT
    name AS host, delay_us / 1e6 AS delay_seconds, AT(until_us) AS until_at,
    CASE robots WHEN 1 THEN 'rules' WHEN 2 THEN 'none' END AS robots, AT(robots_us) AS robots_at
FROM host;

CREATE VIEW items AS SELECT
    o.run_id AS root_id, f.path, f.format, f.name AS producer, AT(f.hour_us) AS hour_at, f.rows, f.bytes,
    lower(hex(f.sha256)) AS sha256, AT(f.written_us) AS written_at, AT(f.replaced_us) AS replaced_at
FROM table_file f LEFT JOIN table_source s ON s.file = f.key LEFT JOIN run o ON o.key = s.root
WHERE f.kind = 0;

CREATE VIEW tables AS SELECT
    CASE f.kind WHEN 0 THEN 'items' WHEN 1 THEN 'typed' ELSE 'rejects' END AS kind, f.name, f.version, f.format, f.path,
    AT(f.hour_us) AS hour_at, f.rows, f.bytes, lower(hex(f.sha256)) AS sha256, AT(f.written_us) AS written_at,
    AT(f.replaced_us) AS replaced_at
FROM table_file f WHERE f.kind < 3;

CREATE VIEW types AS SELECT
    t.name, t.version, t.columns, t.sha256, AT(t.first_us) AS first_used_at,
    (SELECT coalesce(sum(f.rows), 0) FROM table_file f WHERE f.kind = 1 AND f.name = t.name AND f.version = t.version
        AND f.replaced_us = 0) AS rows
FROM typed t;

CREATE VIEW tracked AS SELECT name, AT(done_us) AS completed_at, AT(added_us) AS added_at, error, AT(taken_us) AS taken_at
FROM tracked_name;

CREATE VIEW locks AS SELECT name, owner, token, AT(until_us) AS until_at FROM lock_row;

CREATE VIEW candidates AS SELECT
    c.key AS candidate_id, CASE c.kind WHEN 0 THEN 'host' WHEN 1 THEN 'url' WHEN 2 THEN 'urn' ELSE 'name' END AS kind, c.text, c.url,
    n.weight * n.targets AS score, n.documents, n.targets, AT(n.first_us) AS first_seen_at, AT(n.last_us) AS last_seen_at,
    (SELECT p.id FROM promotion p WHERE p.kind = c.kind AND p.what = c.text AND p.removed_us = 0) AS target,
    (SELECT min(w.reaction) FROM wanted w WHERE w.candidate = c.key) AS wanted_by
FROM candidate c JOIN (SELECT candidate, sum(weight) AS weight, count(*) AS documents, count(DISTINCT crawl) AS targets,
    min(first_us) AS first_us, max(last_us) AS last_us FROM sighting GROUP BY candidate) n ON n.candidate = c.key;

CREATE VIEW sightings AS SELECT
    s.candidate AS candidate_id, s.crawl AS target, r.run_id, r.url, s.weight, AT(s.first_us) AS first_seen_at,
    AT(s.last_us) AS last_seen_at
FROM sighting s JOIN run r ON r.key = s.run;

CREATE VIEW history AS SELECT
    w.crawl AS target, w.name AS "column", AT(v.at_us) AS at, v.value, w.type, w.of_row AS of,
    (SELECT p.value FROM watched_value p WHERE p.watched = v.watched AND (p.at_us, p.run) < (v.at_us, v.run)
        ORDER BY p.at_us DESC, p.run DESC LIMIT 1) AS was,
    NOT EXISTS (SELECT 1 FROM watched_value p WHERE p.watched = v.watched AND (p.at_us, p.run) < (v.at_us, v.run)) AS is_first,
    AT(v.seen_us) AS seen_at, r.run_id, r.url
FROM watched w CROSS JOIN watched_value v ON v.watched = w.key JOIN run r ON r.key = v.run;

-- What two crawls of different names have in common; each of the four takes a crawl's pages together first, so that the cost is that
-- of reading what there is once, and of the pairs that are found.
CREATE VIEW shared AS
WITH seen (what, crawl, pages) AS (SELECT candidate, crawl, count(*) FROM sighting GROUP BY candidate, crawl),
fetched (what, crawl, pages) AS (SELECT r.host, c.name, count(DISTINCT r.digest) FROM crawl c CROSS JOIN run r ON r.root = c.root
    WHERE r.host IS NOT NULL AND r.state IN (2, 3, 8, 9) GROUP BY r.host, c.name),
held (what, crawl, pages) AS (SELECT d.url, c.name, count(DISTINCT r.digest) FROM url_document d CROSS JOIN run r ON r.key = d.run
    CROSS JOIN crawl c ON c.root = r.root WHERE d.believed GROUP BY d.url, c.name),
named (what, crawl, digest) AS (SELECT l.urn, c.name, r.digest FROM link_row l CROSS JOIN run r ON r.key = l.run
        CROSS JOIN crawl c ON c.root = r.root
    UNION ALL SELECT l.href, c.name, r.digest FROM link_row l CROSS JOIN run r ON r.key = l.run CROSS JOIN crawl c ON c.root = r.root
    WHERE l.type IN ('resource', 'relation')),
entity (what, crawl, pages) AS (SELECT what, crawl, count(DISTINCT digest) FROM named GROUP BY what, crawl)
SELECT a.crawl AS target_a, b.crawl AS target_b,
    CASE c.kind WHEN 0 THEN 'host:' WHEN 1 THEN 'url:' WHEN 2 THEN 'urn:' ELSE 'name:' END || c.text AS via, a.pages + b.pages AS times,
    a.pages AS times_a, b.pages AS times_b
FROM seen a JOIN seen b ON b.what = a.what AND b.crawl > a.crawl JOIN candidate c ON c.key = a.what
UNION ALL SELECT a.crawl, b.crawl, 'entity:' || a.what, a.pages + b.pages, a.pages, b.pages
FROM entity a JOIN entity b ON b.what = a.what AND b.crawl > a.crawl
UNION ALL SELECT a.crawl, b.crawl, 'fetched:' || h.name, a.pages + b.pages, a.pages, b.pages
FROM fetched a JOIN fetched b ON b.what = a.what AND b.crawl > a.crawl JOIN host h ON h.key = a.what
UNION ALL SELECT a.crawl, b.crawl, 'page:' || u.url, a.pages + b.pages, a.pages, b.pages
FROM held a JOIN held b ON b.what = a.what AND b.crawl > a.crawl JOIN url_row u ON u.id = a.what;

CREATE VIEW promotions AS SELECT
    p.id AS target, CASE p.kind WHEN 0 THEN 'host' WHEN 1 THEN 'url' WHEN 2 THEN 'urn' ELSE 'name' END AS kind, p.what AS text,
    r.run_id, p.reaction, AT(p.at_us) AS promoted_at, AT(p.removed_us) AS removed_at, p.yaml
FROM promotion p LEFT JOIN run r ON r.key = p.run;

CREATE VIEW contexts AS SELECT
    context_json ->> 'run_id' AS run_id, context_json ->> 'week' AS week, context_json ->> 'since' AS since_at,
    context_json ->> 'until' AS until_at, context_json AS json, context_json ->> 'created_at' AS created_at, count(*) AS crawls
FROM crawl WHERE context_json IS NOT NULL GROUP BY context_json;

CREATE VIEW health AS
    SELECT 'schema version' AS key, (SELECT user_version FROM pragma_user_version) AS value
    UNION ALL SELECT 'crawls open', count(*) FROM crawl WHERE NOT closed
    UNION ALL SELECT 'crawls closed', count(*) FROM crawl WHERE closed
    UNION ALL SELECT 'runs', coalesce(sum(runs), 0) FROM crawl
    UNION ALL SELECT 'runs queued', coalesce(sum(queued), 0) FROM crawl
    UNION ALL SELECT 'runs leased', coalesce(sum(leased), 0) FROM crawl
    UNION ALL SELECT 'runs failed', coalesce(sum(failed), 0) FROM crawl
    UNION ALL SELECT 'refusals', coalesce(sum(leashed), 0) FROM crawl
    UNION ALL SELECT 'documents', coalesce(sum(documents), 0) FROM crawl
    UNION ALL SELECT 'documents not converted', (SELECT count(*) FROM document) - (SELECT count(*) FROM converted)
    UNION ALL SELECT 'bytes fetched', coalesce(sum(bytes), 0) FROM crawl
    UNION ALL SELECT 'events waiting', coalesce(sum(events), 0) FROM crawl
    UNION ALL SELECT 'events failed', count(*) FROM event WHERE state = 3
    UNION ALL SELECT 'oldest lease ends', (SELECT AT(min(o.lease_us)) FROM crawl c
        JOIN run r ON r.root = c.root AND r.state = 1 JOIN owner o ON o.key = r.owner WHERE NOT c.closed);
