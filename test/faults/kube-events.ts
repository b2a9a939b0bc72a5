/** Tells from a request to the API server which boundary it passes. */
import { FINALIZERS } from '../../api/core/group.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import { journeyOf } from './boundaries.js';
import type { Boundary } from './boundaries.js';

/** A request, as far as it matters here. */
export interface KubeRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  body: string;
}

interface Operation {
  op: string;
  path: string;
  value?: unknown;
}

/** What a request passes, if anything. */
export interface KubeEvent {
  boundary: Boundary;
  journey: string;
}

const DR = '/apis/dr.bkbcs.tencent.com/v1alpha1/';

/** Reads a request of a bridge or worker. */
export function kubeEvent(role: 'bridge' | 'worker', request: KubeRequest): KubeEvent | undefined {
  if (request.method === 'GET' || request.query.get('dryRun') !== null) return undefined;
  const boundary = role === 'bridge' ? ofBridge(request) : ofWorker(request);
  if (boundary === undefined) return undefined;
  const journey = journeyOf(request.path) ?? journeyOf(nameIn(request.body));
  return journey === undefined ? undefined : { boundary, journey };
}

function ofBridge({ method, path, body }: KubeRequest): Boundary | undefined {
  if (method === 'POST' && path.endsWith('/controllerrevisions')) return 'snapshot';
  if (method !== 'PATCH' || !path.startsWith(DR)) return undefined;
  const operations = operationsIn(body);
  if (path.includes('/drplans/') && path.endsWith('/status')) {
    const lock = operations.find((operation) => operation.path === '/status/currentExecution');
    if (lock?.op === 'remove') return 'plan-end';
    const whole = operations.find((operation) => operation.path === '/status')?.value as
      | { currentExecution?: unknown }
      | undefined;
    return lock !== undefined || whole?.currentExecution !== undefined ? 'lock' : undefined;
  }
  if (!path.includes('/drplanexecutions/')) return undefined;
  if (!path.endsWith('/status')) {
    const finalizers = operations.filter((operation) => operation.path.startsWith('/metadata/finalizers'));
    if (finalizers.length === 0) return undefined;
    const adds = finalizers.some(({ value }) => JSON.stringify(value ?? null).includes(FINALIZERS.execution));
    return adds ? 'stamp' : 'finalizer';
  }
  const status = Object.fromEntries(
    operations.flatMap(({ path: at, value }) =>
      at === '/status'
        ? Object.entries(value as Record<string, unknown>)
        : [[at.slice('/status/'.length), value] as const],
    ),
  );
  if (isTerminalExecution(status.phase as string | undefined)) return 'run-end';
  return status.temporal === undefined ? 'status-write' : 'start-recorded';
}

function ofWorker({ method, path }: KubeRequest): Boundary | undefined {
  const plural = path.split('/').find((part) => KINDS.has(part));
  if (plural === undefined) return undefined;
  if (plural === 'secrets') return 'capture';
  if (plural === 'jobs') return method === 'POST' ? 'effect-job' : 'effect-object';
  return 'effect-object';
}

/** Kinds that the journeys' actions write. */
const KINDS = new Set(['secrets', 'jobs', 'configmaps', 'localizations', 'subscriptions']);

function operationsIn(body: string): Operation[] {
  const parsed = JSON.parse(body) as unknown;
  return Array.isArray(parsed) ? (parsed as Operation[]) : [];
}

function nameIn(body: string): string {
  if (body === '') return '';
  const parsed = JSON.parse(body) as { metadata?: { name?: string; generateName?: string } };
  return parsed.metadata?.name ?? parsed.metadata?.generateName ?? '';
}
