/** The tables, as numbered steps. A step that a release has carried out is never changed: the next one mends it. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE workspaces (uid text COLLATE "C" PRIMARY KEY);
  CREATE TABLE records (
    workspace text COLLATE "C" NOT NULL REFERENCES workspaces (uid),
    key text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (workspace, key)
  );
  CREATE TABLE runs (run text COLLATE "C" PRIMARY KEY, workspace text COLLATE "C" NOT NULL);
  CREATE TABLE blobs (
    id uuid PRIMARY KEY,
    workspace text COLLATE "C" NOT NULL,
    -- Absent while it is being written.
    name text COLLATE "C",
    begun_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace, name)
  );
  CREATE TABLE chunks (
    blob uuid NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
    n integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (blob, n)
  );
  `,
];

/** Every server brings the tables up to date when it starts; of several one does it. */
export const MIGRATION_LOCK = 7_264_115_201;
