/** Forms of what requests about operations bring. What only others read is passed on as it is. */
import { z } from 'zod';
import { MAX_DIAGNOSTICS, MAX_RESOURCE_ROWS } from '../../api/terraform/bounds.js';
import { ENGINE_NAMES } from '../../api/terraform/engine.js';
import type {
  BeginRequest,
  ControlRequest,
  FinalStateRequest,
  PrepareRequest,
  RevokeRequest,
  SyncRequest,
} from '../../api/terraform/operation.js';
import type { OperationResult, ResourceMove } from '../../api/terraform/operation-result.js';
import { OPERATION_STEPS, type RunnerIdentity } from '../../api/terraform/operation-terms.js';

// Bounded by the body: a runner whose text were refused would ask without end.
const text = z.string();
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits');
const serial = z.int().min(0);

const runner: z.ZodType<RunnerIdentity> = z.object({
  hostId: text,
  bootId: text,
  pid: z.int(),
  startTime: text,
});

const move: z.ZodType<ResourceMove> = z.object({
  address: text,
  action: z.enum(['create', 'update', 'delete']),
  status: z.enum(['applying', 'completed', 'failed']),
  id: text.optional(),
});

const interrupted = z.object({
  by: z.enum(['request', 'revoked', 'released', 'timeout', 'outside']),
  at: text,
  reason: text.optional(),
});

const part = z.object({ offset: serial, text: z.string() });

/** Body of `prepare`. */
export const prepareBody: z.ZodType<PrepareRequest> = z.object({
  executionMode: z.enum(['local', 'agent', 'k8s']),
  hostId: text.min(1),
});

/** Body of `begin`. */
export const beginBody: z.ZodType<BeginRequest> = z.object({
  nonce: digest,
  runner,
  engine: z.object({ name: z.enum(ENGINE_NAMES), version: text, digest }),
  lineage: text,
  serial,
});

/** Body of `sync`. */
export const syncBody: z.ZodType<SyncRequest> = z.object({
  runner,
  step: z.enum(OPERATION_STEPS),
  log: z.object({ out: part.optional(), err: part.optional() }),
  moves: z.array(move).max(MAX_RESOURCE_ROWS),
  interrupted: interrupted.optional(),
});

/** Body of `POST state`. */
export const finalStateBody: z.ZodType<FinalStateRequest> = z.object({ digest });

/** Body of `PUT result`: what decides here is checked, the rest is for `verdict.ts`. */
export const resultBody = z.looseObject({
  operation: text,
  kind: z.enum(['plan', 'apply']),
  runner,
  end: z.looseObject({ kind: z.enum(['refused', 'engine', 'runnerLost']) }),
  step: z.enum(OPERATION_STEPS),
  diagnostics: z.array(z.unknown()).max(MAX_DIAGNOSTICS),
  moves: z.array(move).max(MAX_RESOURCE_ROWS),
  inDoubt: z.array(z.unknown()).max(MAX_RESOURCE_ROWS),
  inDoubtCount: serial,
}) as unknown as z.ZodType<OperationResult>;

/** Body of `revoke`. */
export const revokeBody: z.ZodType<RevokeRequest> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('revoke'), reason: text }),
  z.object({
    kind: z.literal('lost'),
    proof: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('noProcess'), bootId: text }),
      z.object({ kind: z.literal('otherBoot'), was: text, is: text }),
      z.object({ kind: z.literal('podsEnded'), job: text }),
      z.object({ kind: z.literal('released'), by: text, reason: text }),
    ]),
    found: resultBody.optional(),
  }),
]);

/** Body of `control`. */
export const controlBody: z.ZodType<ControlRequest> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('interrupt'),
    order: z.object({ by: z.enum(['request', 'revoked', 'released']), reason: text }),
  }),
  z.object({ kind: z.literal('kill'), reason: text }),
]);
