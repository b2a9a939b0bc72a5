/** What an archive says of itself: its last entry, so that an archive that was cut has none. */
import { z } from 'zod';

/** Of archives that this program writes; it reads no later one. */
export const FORMAT = 1;
/** Name of the entry. */
export const MANIFEST = 'manifest.json';

/** Names of the entries that hold no objects of a kind of ours. */
export const ENTRIES = {
  snapshots: 'snapshots',
  priorState: 'prior-state',
  claim: 'claim',
  ring: 'seal-ring',
} as const;

const entrySchema = z.object({
  name: z.string().regex(/^[a-z0-9-]+\/[0-9]{6}\.ndjson$/),
  bytes: z.int().min(0),
  objects: z.int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
/** One entry: objects of one sort, a line of JSON each. */
export type EntryRecord = z.infer<typeof entrySchema>;

const manifestSchema = z.object({
  format: z.literal(FORMAT),
  /** Version of the program that wrote it. */
  drover: z.string(),
  takenAt: z.string(),
  cluster: z.object({
    /** Uid of namespace kube-system. */
    uid: z.string(),
    /** First eight characters of it, which ids of runs contain. */
    id: z.string(),
  }),
  /** Where the runs are; null: not known to who took the backup. */
  temporal: z.object({
    address: z.string().nullable(),
    namespace: z.string().nullable(),
    /** Ids of the Temporals that executions name. */
    namespaceIds: z.array(z.string()),
  }),
  secrets: z.enum(['included', 'left out']),
  /** Namespace of the installation; null: the embedded default, which keeps its ring in a file. */
  installation: z.object({ namespace: z.string().nullable() }),
  definitions: z.array(z.object({ name: z.string(), versions: z.array(z.string()) })),
  /** Executions that had not ended. */
  live: z.array(z.object({ execution: z.string(), phase: z.string(), workflowId: z.string().nullable() })),
  entries: z.array(entrySchema),
});
/** What an archive says of itself. */
export type Manifest = z.infer<typeof manifestSchema>;

/** What is known only when everything was read is added by the writer. */
export type About = Omit<Manifest, 'entries' | 'format'>;

/**
 * Reads a manifest.
 *
 * @throws Error that completes the sentence "this is no backup: …"
 */
export function readManifest(text: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`its ${MANIFEST} is not JSON`);
  }
  const format = (value as { format?: unknown } | null)?.format;
  if (typeof format === 'number' && format > FORMAT) {
    throw new Error(
      `it has format ${format}, and this program reads up to ${FORMAT}: use the drover that wrote it, or a newer one`,
    );
  }
  const read = manifestSchema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(
    `its ${MANIFEST} is not as it should be: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}
