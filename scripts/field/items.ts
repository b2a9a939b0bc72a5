/** One kind of fault that running the product has shown. */
export interface FieldItem {
  number: number;
  fault: string;
  /** What holds now. */
  now: string;
  /** What is not mended, or not shown, yet. */
  open?: string;
}

/** All kinds of faults, by number. */
export const FIELD: readonly FieldItem[] = [
  {
    number: 0,
    fault: 'A missing worker was reported after 90 s',
    now: 'The time counts from the first scheduling of the task, and is checked again after 30 s',
  },
  {
    number: 1,
    fault: 'A snapshot of 256 KiB or more could not be used twice',
    now: 'Snapshots have no owners; a start marks them as used, and an unused one that nobody names is removed',
  },
  {
    number: 2,
    fault: 'What the bridge could not do was in its log only',
    now: 'Status says what holds up a start, a run or a deletion, and for whose turn it waits',
  },
  {
    number: 3,
    fault: 'Payloads grew with the square of the actions',
    now: 'Tasks carry only what they read; phases of many actions are packed; large payloads travel compressed; a plan that could not be run and reverted is refused at admission',
    open: 'clusters of one PerCluster action are counted when it runs, not when the plan is admitted',
  },
  {
    number: 4,
    fault: 'A long history took all of the memory of the bridge',
    now: 'Histories are read page by page, lists by size; `status` says which program has died',
  },
  {
    number: 5,
    fault: 'A second Apply took back the first',
    now: 'Each action applies under a field manager of its own, and names the fields that it removes',
  },
  {
    number: 6,
    fault: 'A revert left labels and annotations',
    now: 'Undoing what several actions did to one object gives back exactly what was there',
  },
  {
    number: 7,
    fault: 'A mistyped field was a success',
    now: 'Writes ask for strict validation; what the schema refuses is final and named, at admission already where the kind is known',
  },
  {
    number: 8,
    fault: 'A merge patch replaced a list silently; order within a manifest mattered',
    now: 'It warns; `patchType: strategic` keeps the rest; definitions and namespaces go first; preflight reports what is too large to be kept',
  },
  {
    number: 9,
    fault: 'A Job counted as ended while its pods ran',
    now: 'It has ended when its pods are gone or terminal; StopUnconfirmed names those that remain beyond a bound',
  },
  {
    number: 10,
    fault: 'Waits blocked everything else',
    now: 'Waits and urgent work have task queues and slots of their own; many waits share a watch',
  },
  {
    number: 11,
    fault: 'Finalizers stayed on every execution ever run',
    now: 'The finalizer is removed when the run ends, and put back on the target while a revert needs it',
  },
  {
    number: 12,
    fault: 'Orphaned runs went on for two minutes',
    now: 'The bridge looks for them when it starts, and confirms them after 30 s',
  },
  {
    number: 13,
    fault: 'Between two attempts nothing was shown',
    now: 'Status shows how the last attempt failed, the count, and when the next one comes; for a Job, what keeps it from running',
  },
  {
    number: 14,
    fault: 'A run whose code no longer fits said Running; a cancel annotation of `yes` did nothing',
    now: '`WorkflowTaskFailing`, a Warning event, bounded reminders, and the lock stays until the run is closed',
  },
  {
    number: 15,
    fault: 'Redirects and odd HTTP answers were reported wrongly',
    now: 'A redirect that would change the request is refused; answers are reported as they are',
  },
  {
    number: 16,
    fault: 'A value with a placeholder stayed literal, silently',
    now: 'It warns, at admission, in `drover validate` and in preflight',
  },
  {
    number: 17,
    fault: 'A run that nobody created acted',
    now: 'Everything that passes through Temporal is sealed; what is not has no effect',
  },
  {
    number: 18,
    fault: 'An HTTP action reached Temporal',
    now: "Drover's own endpoints are refused whatever the allow-list says, by name, address and in every spelling",
  },
  {
    number: 19,
    fault: 'A planted Secret was replayed by a revert',
    now: 'Prior state is sealed, under a name that nobody can guess',
  },
  {
    number: 20,
    fault: 'An execution that no webhook had seen started',
    now: 'Admission leaves a sealed stamp; without it nothing starts where admission is on',
  },
  {
    number: 21,
    fault: 'A hub rebuilt from Git ran an old failover',
    now: 'An execution that a GitOps tool manages must say when it was requested',
  },
  {
    number: 22,
    fault: 'A plan could use workflows that its author may not read',
    now: 'Admission checks the right to read workflows of other namespaces',
  },
  {
    number: 23,
    fault: 'Help ended with commands that fail',
    now: 'A test parses every example in help and on pages with the command line, and runs those of the first help',
  },
  {
    number: 24,
    fault: 'Rough edges of the first minutes',
    now: 'Ctrl-C in `up` leaves nothing running; what is unusable, unreachable, missing or misspelt is named once, in words',
  },
  {
    number: 25,
    fault: 'Restored etcd: watches of the future, two hubs of one identity',
    now: 'A cache whose server was restored lists again; a second installation with the same cluster id reports `ClusterIdentityTaken`',
  },
  {
    number: 26,
    fault: 'Schemas were narrower, or looser, than those of the original',
    now: 'Any number of retries and success codes, `timeout: 0s` for none, text where no type is written; values and defaults are in the definitions; a workflow with an undeclared placeholder is Invalid until a plan supplies it',
  },
];
