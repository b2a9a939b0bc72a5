/** Forms of what requests about runs bring. */
import { z } from 'zod';
import { ENGINE_NAMES } from '../../api/terraform/engine.js';
import type {
  GrantRequest,
  ReleaseRequest,
  RunPermit,
  RunPin,
  SnapshotRequest,
  WorkspaceFacts,
} from '../../api/terraform/run-pin.js';

const MAX_NAME = 253;
const MAX_TEXT = 4096;
const MAX_ADDRESSES = 100;

const name = z.string().min(1).max(MAX_NAME);
const text = z.string().max(MAX_TEXT);
const uid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a uid');
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');
const turn = z.int().min(0);
const duration = z.int().min(1);

/** Body of `PUT pin`. */
export const pinBody: z.ZodType<RunPin> = z.object({
  run: uid,
  workspace: uid,
  namespace: name,
  runName: name,
  workspaceName: name,
  type: z.enum(['plan_only', 'plan_and_apply', 'drift_check']),
  isDestroy: z.boolean(),
  isReconcile: z.boolean(),
  targets: z.array(text).max(MAX_ADDRESSES),
  replace: z.array(text).max(MAX_ADDRESSES),
  engine: z.object({ name: z.enum(ENGINE_NAMES), version: name }),
  workdir: text,
  executionMode: z.enum(['local', 'agent', 'k8s']),
  agentPool: name.optional(),
  planTimeoutMs: duration,
  applyTimeoutMs: duration,
  specs: z.unknown().optional(),
});

/** Body of `POST snapshot`. */
export const snapshotBody: z.ZodType<SnapshotRequest> = z.object({ archive: digest, variables: digest });

/** Body of `PUT permit`. */
export const permitBody: z.ZodType<RunPermit> = z.object({
  planDigest: digest,
  answers: z.array(z.unknown()).max(MAX_ADDRESSES),
});

/** Body of `POST slot`. */
export const grantBody: z.ZodType<GrantRequest> = z.object({ turn });

/** Body of `POST release`. */
export const releaseBody: z.ZodType<ReleaseRequest> = z.object({
  turn,
  to: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('free') }),
    z.object({ kind: z.literal('recovery'), reason: text }),
  ]),
});

/** Body of `PUT workspace`. */
export const workspaceBody: z.ZodType<WorkspaceFacts> = z.object({
  namespace: name,
  name,
  locked: z.object({ reason: text }).optional(),
});

/** Body of `POST free`. */
export const freeBody: z.ZodType<{ turn: number }> = z.object({ turn });
